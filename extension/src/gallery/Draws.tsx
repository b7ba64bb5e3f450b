/** Random draws of an entry's graph: the same picture under several seeds, or other pictures under one. */
import { Button } from '../canvas/controls/buttons';
import { Icon } from '../canvas/icons';
import { t } from '../core/language';
import type { Picture } from '../core/pictures';
import { useDrawing } from './hooks';
import { Frame } from './Pictures';
import type { DrawRequest, Overrides } from '../core/protocol.generated';

const DRAWS = 8;

/** The variants of one graph under consecutive seeds. */
export const seeds = (seed: number, overrides: Overrides): DrawRequest['variants'] =>
  Array.from({ length: DRAWS }, (_, index) => ({ overrides, seed: seed + index }));

/** The same picture under one seed after the other. */
export function Draws({
  request,
  sample,
  version,
  onAgain,
}: {
  request: DrawRequest;
  sample: number;
  version: unknown;
  onAgain: () => void;
}) {
  const { drawn, problem } = useDrawing(request, version);
  return (
    <>
      <div className="strip" data-testid="gallery-draws">
        {Array.from({ length: DRAWS }, (_, index) => {
          const view = drawn?.variants[index]?.after[0];
          return (
            <Frame
              key={index}
              picture={view?.images[sample]}
              overlay={view?.overlays[sample]}
              alt={t('draw %1', index + 1)}
            />
          );
        })}
      </div>
      {problem !== null && <p className="problem error">{problem}</p>}
      <Button data-action="draw-again" onClick={onAgain}>
        <Icon name="dice" size={14} />
        {t('Draw again')}
      </Button>
    </>
  );
}

/** One variant on several pictures. */
export function Others({ view, count }: { view: { images: (Picture | null)[] } | undefined; count: number }) {
  return (
    <div className="strip" data-testid="gallery-others">
      {Array.from({ length: count }, (_, index) => (
        <Frame key={index} picture={view?.images[index]} alt={t('sample %1', index + 1)} />
      ))}
    </div>
  );
}
