/** Boxes, points and a mask over a picture; coordinates are shares of its size, so that they fit however it is shown. */
import { memo } from 'react';
import './Overlays.css';

/** Colours that can be told apart, in the order of the boxes. */
const COLOURS = ['#4a7df0', '#e0823d', '#1f9d8b', '#cc4f8f', '#c98a1b', '#8a63d2'];

const colour = (index: number): string => COLOURS[index % COLOURS.length] as string;

interface ShapesProperties {
  kind: 'boxes' | 'points';
  /** Left, top, right, bottom of a box; x and y of a point. */
  items: readonly (readonly number[])[];
  /** The size of the picture: shapes are placed as it is, as large as it fits, in the middle. */
  width: number;
  height: number;
  label: string;
}

export const Shapes = memo(function Shapes({ kind, items, width, height, label }: ShapesProperties) {
  return (
    <svg
      className="overlay-shapes"
      data-overlay={kind}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
    >
      {items.map(([x = 0, y = 0, right = 0, bottom = 0], index) =>
        kind === 'boxes' ? (
          <rect
            key={index}
            x={x * width}
            y={y * height}
            width={Math.max(0, right - x) * width}
            height={Math.max(0, bottom - y) * height}
            stroke={colour(index)}
          />
        ) : (
          <circle key={index} cx={x * width} cy={y * height} r={width / 60} fill={colour(index)} />
        ),
      )}
    </svg>
  );
});

/** A picture of classes that is see-through where there is nothing. */
export function Mask({ url }: { url: string }) {
  return <img className="overlay-mask" data-overlay="mask" src={url} alt="" draggable={false} />;
}
