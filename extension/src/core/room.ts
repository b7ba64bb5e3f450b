/** Makes room for a node that was put into a link: nodes right of it move on. */
import { moveNodes, type Point } from './edits';
import type { GraphDocument, Link } from './document';
import { NODE_SIZE, placeOf, type Box, type Size } from './layout';

const GAP = 44;
/** A node at most this far from the line of its source is aligned with it. */
const NEAR = 40;

/**
 * The document with a node in the link from left to right: right of the link's source, in line with it where it is
 * near, and with the target and all that stands right of it in its row moved as far as needed. Where the link leads to the left
 * or down, nothing moves.
 */
export function makeRoom(
  document: GraphDocument,
  id: string,
  { source, target }: Link,
  sizeOf: (id: string) => Size = () => NODE_SIZE,
): GraphDocument {
  const from = placeOf(document, source.node);
  const to = placeOf(document, target.node);
  const right = from.x + sizeOf(source.node).width;
  if (to.x < right) return document;
  const at = placeOf(document, id);
  const place = {
    x: Math.max(at.x, right + GAP),
    y: Math.abs(at.y - from.y) <= NEAR ? from.y : at.y,
  };
  // The node may have been dropped far from the link's target: then it stays where it is.
  const shift = Math.max(0, Math.min(place.x, to.x) + sizeOf(id).width + GAP - to.x);
  const inWay = place.y < to.y + sizeOf(target.node).height && to.y < place.y + sizeOf(id).height;
  if (!inWay) return moveNodes(document, { [id]: at });
  const moved = moveNodes(document, { [id]: { ...place, x: Math.min(place.x, to.x) } });
  return shiftRow(moved, { ...to, ...sizeOf(target.node) }, shift, sizeOf, [id, source.node]);
}

/** Moves what stands in the same row as a box, at its left edge or right of it, to the right; notes too. */
export function shiftRow(
  document: GraphDocument,
  from: Box,
  by: number,
  sizeOf: (id: string) => Size,
  besides: readonly string[] = [],
): GraphDocument {
  if (by <= 0) return document;
  const inRow = (box: Box): boolean =>
    box.x >= from.x && box.y < from.y + from.height && from.y < box.y + box.height;
  const moved: Record<string, Point> = {};
  for (const id of Object.keys(document.nodes)) {
    const place = placeOf(document, id);
    if (!besides.includes(id) && inRow({ ...place, ...sizeOf(id) }))
      moved[id] = { ...place, x: place.x + by };
  }
  const notes = document.view.notes.map((note) =>
    inRow({ ...note, width: note.w, height: note.h }) ? { ...note, x: note.x + by } : note,
  );
  const spread = moveNodes(document, moved);
  return { ...spread, view: { ...spread.view, notes } };
}
