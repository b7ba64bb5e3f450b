/** Where the minimap stands: never over nodes of a view that a command made. */
import { overlap, type Box, type Size } from './layout';

export const OVERVIEW_SIZE: Size = { width: 144, height: 88 };
/** Space between the minimap and the edge of the canvas. */
const MARGIN = 12;

const CORNERS = ['bottom-right', 'bottom-left', 'top-right', 'top-left'] as const;
export type Corner = (typeof CORNERS)[number];

/** The place of the minimap in a corner of a canvas of this size. */
function placeIn(corner: Corner, { width, height }: Size): Box {
  return {
    x: corner.endsWith('left') ? MARGIN : width - MARGIN - OVERVIEW_SIZE.width,
    y: corner.startsWith('top') ? MARGIN : height - MARGIN - OVERVIEW_SIZE.height,
    ...OVERVIEW_SIZE,
  };
}

/**
 * The corner for the minimap, from the boxes of nodes on the screen; null where the graph is seen whole. Without a
 * free corner there is none either, unless the person has `taken` the view to where it is.
 */
export function overviewCorner(boxes: readonly Box[], room: Size, taken: boolean): Corner | null {
  const outside = ({ x, y, width, height }: Box): boolean =>
    x < 0 || y < 0 || x + width > room.width || y + height > room.height;
  if (!boxes.some(outside)) return null;
  const free = CORNERS.find((corner) => !boxes.some((box) => overlap(box, placeIn(corner, room))));
  return free ?? (taken ? 'bottom-right' : null);
}
