/** Boxes, points and masks over a picture, in shares of its size, so that they fit whatever size it is shown at. */
import { memo } from 'react';

export interface OverlayMarks {
  /** Left, top, right, bottom. */
  boxes?: readonly (readonly number[])[] | undefined;
  labels?: readonly (string | null)[] | undefined;
  /** x, y. */
  points?: readonly (readonly number[])[] | undefined;
  /** A picture that is see-through where there is nothing. */
  mask?: { url: string } | null | undefined;
}

const COLOURS = ['#4a7df0', '#e0823d', '#1f9d8b', '#cc4f8f', '#c98a1b', '#8a63d2'];

const colour = (index: number): string => COLOURS[index % COLOURS.length] as string;
const percent = (share: number): string => `${share * 100}%`;

export const Overlays = memo(function Overlays({ boxes, labels, points, mask }: OverlayMarks) {
  return (
    <>
      {mask && <img className="overlay-mask" src={mask.url} alt="" draggable={false} />}
      {((boxes?.length ?? 0) > 0 || (points?.length ?? 0) > 0) && (
        <svg className="overlay-marks" aria-hidden="true">
          {boxes?.map(([left = 0, top = 0, right = 0, bottom = 0], index) => (
            <rect
              key={`b${index}`}
              data-overlay="box"
              x={percent(left)}
              y={percent(top)}
              width={percent(Math.max(0, right - left))}
              height={percent(Math.max(0, bottom - top))}
              fill="none"
              stroke={colour(index)}
              strokeWidth={2}
            />
          ))}
          {boxes?.map(([left = 0, top = 0], index) => {
            const label = labels?.[index];
            return label ? (
              <text key={`l${index}`} x={percent(left)} y={percent(top)} dx={3} dy={12} fill={colour(index)}>
                {label}
              </text>
            ) : null;
          })}
          {points?.map(([x = 0, y = 0], index) => (
            <circle
              key={`p${index}`}
              data-overlay="point"
              cx={percent(x)}
              cy={percent(y)}
              r={4}
              fill={colour(index)}
              stroke="#fff"
              strokeWidth={1.5}
            />
          ))}
        </svg>
      )}
    </>
  );
});
