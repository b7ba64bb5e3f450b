/** Keeps cards on the canvas apart: every edit goes through here, and what it placed on others moves to free room. */
import type { GraphDocument, Note } from './document';
import { moveNodes, type Point } from './edits';
import { cornerOf, GRID, groupBox, overlap, placeOf, type Box, type Size } from './layout';
import { groupKey, hiddenNodes } from './subgraphs';

/** Space left around a card that is moved to free room. */
const GAP = 24;
/** Obstacles whose edges are tried as places for a card. */
const NEAREST = 24;

type Cards = Map<string, Box>;
type SizeOf = (id: string) => Size;

/** The cards that are seen: nodes, and groups that are shown as one node, by their key. */
export function cardsOf(document: GraphDocument, sizeOf: SizeOf): Cards {
  const hidden = hiddenNodes(document);
  const cards: Cards = new Map();
  for (const id of Object.keys(document.nodes)) {
    if (!hidden.has(id)) cards.set(id, { ...placeOf(document, id), ...sizeOf(id) });
  }
  for (const group of document.view.groups) {
    if (!group.collapsed || !group.nodes.some((id) => document.nodes[id])) continue;
    const key = groupKey(group.id);
    cards.set(key, { ...cornerOf(document, group.nodes), ...sizeOf(key) });
  }
  return cards;
}

const meets = (box: Box, others: readonly Box[]): boolean => others.some((other) => overlap(box, other));
const moved = (box: Box, by: Point): Box => ({ ...box, x: box.x + by.x, y: box.y + by.y });
const widened = (box: Box): Box => ({
  x: box.x - GAP,
  y: box.y - GAP,
  width: box.width + 2 * GAP,
  height: box.height + 2 * GAP,
});

/** The smallest box around all. */
export function around(boxes: readonly Box[]): Box {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  return {
    x,
    y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
  };
}

/** The shortest way by which boxes that keep their places to each other come clear of the obstacles; down before up. */
export function wayOut(block: readonly Box[], obstacles: readonly Box[]): Point {
  if (!block.some((box) => meets(box, obstacles))) return { x: 0, y: 0 };
  const whole = around(block);
  const distance = (box: Box): number =>
    Math.max(box.x - whole.x - whole.width, whole.x - box.x - box.width, 0) +
    Math.max(box.y - whole.y - whole.height, whole.y - box.y - box.height, 0);
  const near = [...obstacles].sort((a, b) => distance(a) - distance(b)).slice(0, NEAREST);
  const up = (value: number): number => Math.ceil(value / GRID) * GRID;
  const down = (value: number): number => Math.floor(value / GRID) * GRID;
  const across = [0];
  const along = [0];
  for (const box of near) {
    across.push(up(box.x + box.width + GAP) - whole.x, down(box.x - whole.width - GAP) - whole.x);
    along.push(up(box.y + box.height + GAP) - whole.y, down(box.y - whole.height - GAP) - whole.y);
  }
  const cost = ({ x, y }: Point): number => Math.abs(x) + Math.abs(y) + (x < 0 ? 64 : 0) + (y < 0 ? 128 : 0);
  const ways = across.flatMap((x) => along.map((y) => ({ x, y }))).sort((a, b) => cost(a) - cost(b));
  const free = ways.find((way) => !block.some((box) => meets(widened(moved(box, way)), obstacles)));
  // Below everything there is always room.
  return free ?? { x: 0, y: up(Math.max(...obstacles.map((box) => box.y + box.height)) + GAP) - whole.y };
}

/**
 * Places of cards of `names` that stand clear of `fixed` and of each other: together, with the frames around them, where
 * they can, else one by one.
 */
function apart(cards: Cards, names: readonly string[], fixed: readonly Box[], frames: readonly Box[]): Cards {
  const block = names.map((name) => cards.get(name) as Box);
  const alone = block.every((box, index) => !meets(box, block.slice(index + 1)));
  if (alone) {
    const way = wayOut([...block, ...frames], fixed);
    return new Map(names.map((name, index) => [name, moved(block[index] as Box, way)]));
  }
  const placed = [...fixed];
  const result: Cards = new Map();
  const order = [...names].sort((a, b) => {
    const [first, second] = [cards.get(a) as Box, cards.get(b) as Box];
    return first.y - second.y || first.x - second.x;
  });
  for (const name of order) {
    const box = cards.get(name) as Box;
    const free = moved(box, wayOut([box], placed));
    placed.push(free);
    result.set(name, free);
  }
  return result;
}

/** The document with its cards at these places; the members of a group that is shown as one node go along with it. */
function placed(document: GraphDocument, cards: Cards, places: Cards): GraphDocument {
  const positions: Record<string, Point> = {};
  for (const [name, { x, y }] of places) {
    const from = cards.get(name) as Box;
    if (from.x === x && from.y === y) continue;
    const group = document.view.groups.find(({ id }) => groupKey(id) === name);
    for (const id of group && !document.nodes[name] ? group.nodes : [name]) {
      if (!document.nodes[id]) continue;
      const place = placeOf(document, id);
      positions[id] = { x: place.x + x - from.x, y: place.y + y - from.y };
    }
  }
  return Object.keys(positions).length > 0 ? moveNodes(document, positions) : document;
}

const boxOf = ({ x, y, w, h }: Note): Box => ({ x, y, width: w, height: h });

/** The document with new notes, and those that have grown with their text, clear of cards; people may move them below. */
function notesClear(before: GraphDocument, after: GraphDocument, cards: readonly Box[]): GraphDocument {
  if (after.view.notes === before.view.notes) return after;
  const old = new Map(before.view.notes.map((note) => [note.id, note]));
  const notes = after.view.notes.map((note) => {
    const was = old.get(note.id);
    if (was && (was.text === note.text || meets(boxOf(was), cards))) return note;
    const way = wayOut([boxOf(note)], cards);
    return way.x === 0 && way.y === 0 ? note : { ...note, x: note.x + way.x, y: note.y + way.y };
  });
  return { ...after, view: { ...after.view, notes } };
}

/** The document after an edit, with new and moved cards clear of those that the edit left where they were. */
export function keepApart(before: GraphDocument, after: GraphDocument, sizeOf: SizeOf): GraphDocument {
  if (after.view === before.view && after.nodes === before.nodes) return after;
  const old = cardsOf(before, sizeOf);
  const cards = cardsOf(after, sizeOf);
  after = notesClear(before, after, [...cards.values()]);
  const names = [...cards.keys()].filter((name) => {
    const [was, is] = [old.get(name), cards.get(name) as Box];
    return was?.x !== is.x || was.y !== is.y;
  });
  if (names.length === 0) return after;
  const chosen = new Set(names);
  const fixed = [...cards].flatMap(([name, box]) => (chosen.has(name) ? [] : [box]));
  // A group that opens has its title and its button to close it in its frame.
  const frames = after.view.groups
    .filter(({ nodes }) => nodes.length > 0 && nodes.every((id) => cards.has(id) && !old.has(id)))
    .map((group) => groupBox(after, group, sizeOf));
  return placed(after, cards, apart(cards, names, fixed, frames));
}

/** The document with cards that cover each other apart: cards have grown, and those below or right of them give way. */
export function makeWay(document: GraphDocument, sizeOf: SizeOf): GraphDocument {
  const cards = cardsOf(document, sizeOf);
  const places: Cards = new Map();
  const clear: Box[] = [];
  const order = [...cards].sort(([, a], [, b]) => a.y - b.y || a.x - b.x);
  const late: [string, Box][] = [];
  for (const [name, box] of order) {
    if (meets(box, clear)) late.push([name, box]);
    else clear.push(box);
  }
  for (const [name, box] of late) {
    const free = moved(box, wayOut([box], clear));
    clear.push(free);
    places.set(name, free);
  }
  return placed(document, cards, places);
}
