/** Boxes, points and masks of a sample, over its picture. */
import type { FocusResult, Picture } from '../core/previews';

/** As many as can be told apart; the order is that of the boxes. */
const COLOURS = ['#4a7df0', '#e0823d', '#1f9d8b', '#cc4f8f', '#c98a1b', '#8a63d2'];

interface Properties {
  focus: FocusResult | undefined;
  sample: number;
  picture: Picture;
}

export function Overlays({ focus, sample, picture: { width, height } }: Properties) {
  const colour = (index: number): string => COLOURS[index % COLOURS.length] as string;
  return focus?.overlays.map((overlay) => {
    const key = `${overlay.kind}:${overlay.node}:${overlay.output}`;
    if (overlay.kind === 'mask') {
      const mask = overlay.images[sample];
      return mask && <img key={key} className="overlay-mask" data-overlay="mask" src={mask.url} alt="" />;
    }
    const items = overlay.items[sample] ?? [];
    return (
      // Placed as the picture is: as large as it fits, in the middle.
      <svg
        key={key}
        className="overlay-shapes"
        data-overlay={overlay.kind}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${items.length} ${overlay.kind} of ${overlay.node}`}
      >
        {items.map(([x = 0, y = 0, right = 0, bottom = 0], index) =>
          overlay.kind === 'boxes' ? (
            <rect
              key={index}
              x={x * width}
              y={y * height}
              width={Math.max(0, right - x) * width}
              height={Math.max(0, bottom - y) * height}
              stroke={colour(index)}
            />
          ) : (
            <circle key={index} cx={x * width} cy={y * height} r={width / 90} fill={colour(index)} />
          ),
        )}
      </svg>
    );
  });
}
