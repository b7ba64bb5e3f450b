/** Places labels on links where they cover no node. */
import type { Point } from '../core/edits';
import type { Box, Size } from '../core/layout';

/** Shares of the way along a link, the middle first. */
const SHARES = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.12, 0.88];

/** A point of the cubic curve that a link is. */
function pointAt([a, b, c, d]: readonly [Point, Point, Point, Point], share: number): Point {
  const rest = 1 - share;
  const at = (axis: 'x' | 'y'): number =>
    rest ** 3 * a[axis] +
    3 * rest ** 2 * share * b[axis] +
    3 * rest * share ** 2 * c[axis] +
    share ** 3 * d[axis];
  return { x: at('x'), y: at('y') };
}

/** Offsets of a label from its link: between nodes that are close together, it is put above their upper edge. */
const ASIDE = [0, -30, 30];

/** The middle of a label on a link: on it, or else beside it, where no node lies; its middle where there is no such place. */
export function labelPlace(
  curve: readonly [Point, Point, Point, Point],
  label: Size,
  nodes: readonly Box[],
): Point {
  const isFree = ({ x, y }: Point): boolean =>
    nodes.every(
      (node) =>
        x + label.width / 2 <= node.x ||
        x - label.width / 2 >= node.x + node.width ||
        y + label.height / 2 <= node.y ||
        y - label.height / 2 >= node.y + node.height,
    );
  const places = ASIDE.flatMap((aside) =>
    SHARES.map((share) => {
      const { x, y } = pointAt(curve, share);
      return { x, y: y + aside };
    }),
  );
  return places.find(isFree) ?? (places[0] as Point);
}
