/** Pictures of the gallery: one with its overlays, and two under a slider. */
import { useState, type CSSProperties, type PointerEvent } from 'react';
import type { Picture } from '../core/previews';
import { Mask, Shapes } from '../pictures/Overlays';
import type { DrawnOverlay } from './model';
import { t } from '../core/language';
import './Pictures.css';

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
  const [split, setSplit] = useState(50);
  const onMove = (event: PointerEvent<HTMLElement>): void => {
    if (event.type === 'pointermove' && event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    setSplit(Math.min(100, Math.max(0, ((event.clientX - box.left) / box.width) * 100)));
  };
  return (
    <div
      className="split"
      role="slider"
      tabIndex={0}
      aria-label={t('Before and after')}
      aria-valuenow={Math.round(split)}
      data-testid="gallery-split"
      style={{ '--split': `${split}%` } as CSSProperties}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        onMove(event);
      }}
      onPointerMove={onMove}
      onKeyDown={(event) => {
        if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
        event.preventDefault();
        setSplit(Math.min(100, Math.max(0, split + (event.key === 'ArrowLeft' ? -5 : 5))));
      }}
    >
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
