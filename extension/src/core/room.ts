/** Makes room for a node that was put into a link: nodes right of it move on. */
import { moveNodes } from './edits';
import type { GraphDocument, Link } from './document';
import { NODE_SIZE, placeOf, type Size } from './layout';

const GAP = 44;
/** A node at most this far from the line of its source is aligned with it. */
const NEAR = 40;

/**
 * The document with a node in the link from left to right: right of the link's source, in line with it where it is
 * near, and with the target and all that stands right of it moved as far as needed. Where the link leads to the left
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
  const moved = { [id]: inWay ? { ...place, x: Math.min(place.x, to.x) } : at };
  if (!inWay || shift === 0) return moveNodes(document, moved);
  for (const other of Object.keys(document.nodes)) {
    const { x, y } = placeOf(document, other);
    if (other !== id && other !== source.node && x >= to.x) moved[other] = { x: x + shift, y };
  }
  const notes = document.view.notes.map((note) => (note.x >= to.x ? { ...note, x: note.x + shift } : note));
  const spread = moveNodes(document, moved);
  return { ...spread, view: { ...spread.view, notes } };
}
