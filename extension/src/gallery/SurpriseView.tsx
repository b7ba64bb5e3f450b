/** A graph of augmentations that chance put together, and that runs. */
import { Button } from '../canvas/controls/buttons';
import { useCallback, useEffect, useState } from 'react';
import { Icon } from '../canvas/icons';
import { Code } from './Code';
import { GraphPicture } from './GraphPicture';
import { useDrawing, useGallery } from './hooks';
import { Frame, Split, STAGE } from './Pictures';
import { Section } from './Section';
import type { Surprise } from '../core/protocol.generated';
import { t } from '../core/language';

const DRAWS = 8;

export function SurpriseView() {
  const model = useGallery();
  const [surprise, setSurprise] = useState<Surprise | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [first, setFirst] = useState(0);
  const [searching, setSearching] = useState(false);
  const again = useCallback(() => {
    setSearching(true);
    model
      .surprise()
      .then(
        (found) => {
          setSurprise(found);
          setProblem(null);
          setFirst((before) => before + 1);
        },
        (error: unknown) => setProblem((error as Error).message),
      )
      .finally(() => setSearching(false));
  }, [model]);
  useEffect(again, [again]);
  const base = surprise ? { graph: surprise.graph, before_edge: surprise.before, first } : null;
  const main = useDrawing(base && { ...base, variants: [{ seed: 42 }], size: STAGE });
  const strip = useDrawing(
    base && {
      ...base,
      size: 160,
      before: false,
      variants: Array.from({ length: DRAWS }, (_, index) => ({ seed: 43 + index })),
    },
  );
  const variant = main.drawn?.variants[0];
  const working = searching || main.working;
  return (
    <div className="gallery-page" data-testid="gallery-surprise" data-seed={surprise?.seed ?? ''}>
      <div className="entry-main">
        {variant?.problem != null && <p className="problem error">{variant.problem}</p>}
        <div className="stage-row" data-working={working}>
          {working && !variant && (
            <div className="gallery-empty line muted" role="status">
              <progress aria-label={t('Surprise')} />
              {searching ? t('Putting a graph together…') : t('Drawing it…')}
            </div>
          )}
          {variant && (
            <Split before={variant.before?.images[0] ?? null} after={variant.after[0]?.images[0] ?? null} />
          )}
        </div>
        <Section title={t('Drawn again and again')}>
          <div className="strip">
            {Array.from({ length: DRAWS }, (_, index) => (
              <Frame
                key={index}
                picture={strip.drawn?.variants[index]?.after[0]?.images[0]}
                alt={t('draw %1', index + 1)}
              />
            ))}
          </div>
        </Section>
        {surprise && (
          <>
            <Section title={t('Graph')}>
              <div className="graph-frame">
                <GraphPicture document={surprise.document} marked={[]} />
              </div>
            </Section>
            <Section title={t('Python')}>
              <Code text={surprise.code} />
            </Section>
          </>
        )}
      </div>
      <aside className="entry-side">
        <h2>{surprise?.title ?? t('Surprise')}</h2>
        {problem !== null && (
          <p className="problem error" role="alert">
            {problem}
          </p>
        )}
        <p>
          {t(
            'Augmentations of the gallery in an order that chance chose. The graph is checked before it is shown.',
          )}
        </p>
        <div className="entry-actions">
          <Button
            className="primary"
            data-action="surprise"
            aria-busy={working}
            onClick={() => !searching && again()}
          >
            <Icon name="dice" size={14} />
            {working ? t('Working…') : t('Another one')}
          </Button>
          <Button
            data-action="open-in-editor"
            disabled={!surprise}
            onClick={() => surprise && model.host.open(surprise.document, surprise.title, null)}
          >
            {t('Open in editor')}
          </Button>
        </div>
        <Section title={t('Made of')}>
          <ul className="steps">
            {surprise?.steps.map((name) => (
              <li key={name}>
                <button
                  type="button"
                  className="link-button"
                  onClick={() => model.go({ page: 'entry', name })}
                >
                  {name}
                </button>
              </li>
            ))}
          </ul>
        </Section>
      </aside>
    </div>
  );
}
