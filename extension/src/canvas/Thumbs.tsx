/** The strip of samples of one output: pictures where there are, else values as text. */
import { memo } from 'react';
import { t } from '../core/language';
import type { OutputResult } from '../core/previews';
import { Icon } from './icons';
import './Thumbs.css';

interface Properties {
  node: string;
  output: OutputResult;
  count: number;
  stale: boolean;
  onSample: (sample: number, follow: boolean) => void;
  onHover: (sample: number | null) => void;
}

function columnsFor(count: number): number {
  if (count <= 3) return count;
  return count === 4 ? 2 : 3;
}

export const Thumbs = memo(function Thumbs({ node, output, count, stale, onSample, onHover }: Properties) {
  const samples = Math.min(count, Math.max(output.images.length, output.values?.length ?? 0));
  if (samples === 0) return null;
  const pictures = output.images.some((image) => image !== null);
  return (
    <div
      className={`thumbs ${pictures ? 'pictures' : 'values'} ${stale ? 'stale' : ''}`}
      style={pictures ? { gridTemplateColumns: `repeat(${columnsFor(samples)}, 1fr)` } : undefined}
      onPointerLeave={() => onHover(null)}
    >
      {Array.from({ length: samples }, (_, sample) => {
        const image = output.images[sample];
        const text = output.values?.[sample] ?? '';
        const lost = output.lost?.[sample];
        const label = output.labels?.[sample];
        const caption = [
          t('Sample %1 of %2', sample + 1, node),
          label,
          output.files?.[sample],
          lost ?? (image ? null : text),
        ]
          .filter(Boolean)
          .join(' · ');
        return (
          <button
            type="button"
            key={sample}
            className="thumb"
            data-sample={sample}
            title={caption}
            aria-label={caption}
            tabIndex={-1}
            onPointerEnter={() => onHover(sample)}
            onClick={() => onSample(sample, false)}
            onDoubleClick={(event) => {
              event.stopPropagation();
              onSample(sample, true);
            }}
          >
            {image ? (
              <img
                data-node={node}
                data-sample={sample}
                src={image.url}
                alt=""
                draggable={false}
                width={image.width}
                height={image.height}
              />
            ) : lost != null ? (
              <span className="thumb-lost" data-testid="lost-sample">
                <Icon name="warning" size={14} />
              </span>
            ) : (
              <span className="thumb-text ellipsis muted">{text}</span>
            )}
          </button>
        );
      })}
    </div>
  );
});
