/** Pictures of the gallery: one with its overlays, and two under a slider. */
import type { CSSProperties } from 'react';
import type { Picture } from '../core/pictures';
import { useSplit } from '../pictures/useSplit';
import { Mask, Shapes } from '../pictures/Overlays';
import type { DrawnOverlay } from '../entries/model';
import { t } from '../core/language';
import './Pictures.css';

/** Longer side of a picture on the stage, in pixels: as wide as the stage is at most. */
export const STAGE = 640;

interface FrameProperties {
  picture: Picture | null | undefined;
  overlay?: DrawnOverlay | null | undefined;
  alt: string;
  className?: string;
}

/** A picture as large as its place allows, in its own proportions, with what is drawn over it. */
export function Frame({ picture, overlay, alt, className = '' }: FrameProperties) {
  if (!picture)
    return (
      <div className={`frame line nothing ${className}`} role="img" aria-label={t('%1: nothing', alt)} />
    );
  return (
    <div
      className={`frame line ${className}`}
      style={{ '--ratio': picture.width / Math.max(1, picture.height) } as CSSProperties}
    >
      <div className="frame-inner">
        <img src={picture.url} alt={alt} draggable={false} />
        {overlay?.mask && <Mask url={overlay.mask.url} />}
        {(['boxes', 'points'] as const).map((kind) => {
          const items = overlay?.[kind];
          return (
            items && (
              <Shapes
                key={kind}
                kind={kind}
                items={items}
                width={picture.width}
                height={picture.height}
                label={`${items.length} ${kind}`}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

interface SplitProperties {
  before: Picture | null;
  beforeOverlay?: DrawnOverlay | null | undefined;
  after: Picture | null;
  afterOverlay?: DrawnOverlay | null | undefined;
}

/** Before at the left of a line that moves, after at its right. */
export function Split({ before, beforeOverlay, after, afterOverlay }: SplitProperties) {
  const slider = useSplit();
  return (
    <div className="split" aria-label={t('Before and after')} data-testid="gallery-split" {...slider}>
      <Frame className="split-after" picture={after} overlay={afterOverlay} alt={t('after')} />
      {before && (
        <Frame className="split-before fill" picture={before} overlay={beforeOverlay} alt={t('before')} />
      )}
      {before && <span className="split-line" />}
      {before && <span className="split-word left">{t('before')}</span>}
      <span className="split-word right">{t('after')}</span>
    </div>
  );
}
