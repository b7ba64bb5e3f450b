/** Automatic layout, free places for new nodes, alignment: where things stand on the canvas. */
import { graphlib, layout as dagreLayout } from '@dagrejs/dagre';
import { isArgument, links, parseEdge, type GraphDocument, type Group } from './document';
import type { Point } from './edits';

export interface Size {
  width: number;
  height: number;
}

export interface Box extends Point, Size {}

export const GRID = 8;
export const NODE_SIZE: Size = { width: 240, height: 296 };

const snap = (value: number): number => Math.round(value / GRID) * GRID;

/** Nodes that only give values to arguments: they stand below what they feed, out of the main line. */
function argumentSources(document: GraphDocument): Map<string, string> {
  const fed = new Map<string, string>();
  const other = new Set(document.outputs.map((reference) => parseEdge(reference).node));
  for (const { source, target } of links(document)) {
    if (isArgument(target)) {
      if (!fed.has(source.node)) fed.set(source.node, target.node);
    } else {
      other.add(source.node);
      other.add(target.node);
    }
  }
  for (const [id, node] of Object.entries(document.nodes)) {
    if (Object.keys(node.connections ?? {}).length > 0) other.add(id);
  }
  for (const id of other) fed.delete(id);
  return fed;
}

/** Distances between ranks, between nodes of a rank, and between rows of ranks. */
const RANK_GAP = 44;
const NODE_GAP = 28;
const ROW_GAP = 48;
/** Room for the frame and the title of a group around its members. */
export const FRAME = { pad: 24, title: 20 };
/** Whether a group stands in another: a sub-graph that was opened in one that is open. */
export function isInside({ view }: GraphDocument, inner: Group, outer: Group): boolean {
  const at = ({ id }: Group): number => view.groups.findIndex((each) => each.id === id);
  return at(inner) > at(outer) && inner.nodes.every((id) => outer.nodes.includes(id));
}

/** The box around the members of a group and the frames in it, with room for its title. */
export function groupBox(document: GraphDocument, group: Group, sizeOf: (id: string) => Size): Box {
  const inner = document.view.groups.filter((each) => !each.collapsed && isInside(document, each, group));
  const boxes = [
    ...group.nodes
      .filter((id) => document.nodes[id])
      .map((id) => ({ ...placeOf(document, id), ...sizeOf(id) })),
    ...inner.map((each) => groupBox(document, each, sizeOf)),
  ];
  const { pad, title } = FRAME;
  const x = Math.min(...boxes.map((box) => box.x)) - pad;
  const y = Math.min(...boxes.map((box) => box.y)) - pad - title;
  const right = Math.max(...boxes.map((box) => box.x + box.width)) + pad;
  const bottom = Math.max(...boxes.map((box) => box.y + box.height)) + pad;
  return { x, y, width: right - x, height: bottom - y };
}

/** A graph is wrapped into one row more only where it is then shown larger by this factor. */
const WORTH_A_ROW = 1.06;

type Places = Record<string, Point>;

/**
 * Positions for all nodes, or for those named: ranks from left to right, wrapped into rows where the graph is then shown
 * larger in this `room`. Members of a group stand together.
 */
export function autoLayout(
  document: GraphDocument,
  sizeOf: (id: string) => Size,
  ids: readonly string[] = Object.keys(document.nodes),
  room: Size | null = null,
): Places {
  const first = ids[0];
  if (first === undefined) return {};
  const chosen = new Set(ids);
  // A document as it stands in a file may have no view.
  const groups = (document as Partial<GraphDocument>).view?.groups ?? [];
  const unitOf = new Map(ids.map((id) => [id, id]));
  const sizes = new Map<string, Size>();
  const inside = new Map<string, Places>();
  for (const group of groups) {
    const members = group.nodes.filter((id) => chosen.has(id) && document.nodes[id]);
    if (members.length === 0) continue;
    const key = `group:${group.id}`;
    for (const id of members) unitOf.set(id, key);
    const places = arranged(document, new Map(members.map((id) => [id, sizeOf(id)])), (id) => id, room);
    const whole = extent(places, sizeOf);
    const corner = group.collapsed ? { x: 0, y: 0 } : { x: FRAME.pad, y: FRAME.pad + FRAME.title };
    inside.set(
      key,
      mapped(places, ({ x, y }) => ({ x: x - whole.x + corner.x, y: y - whole.y + corner.y })),
    );
    sizes.set(
      key,
      group.collapsed
        ? sizeOf(key)
        : { width: whole.width + 2 * FRAME.pad, height: whole.height + 2 * FRAME.pad + FRAME.title },
    );
  }
  for (const id of ids) if (unitOf.get(id) === id) sizes.set(id, sizeOf(id));
  const units = arranged(document, sizes, (id) => unitOf.get(id), room);
  const positions: Places = {};
  for (const id of ids) {
    const unit = unitOf.get(id) as string;
    const at = units[unit] as Point;
    const within = inside.get(unit)?.[id] ?? { x: 0, y: 0 };
    positions[id] = { x: at.x + within.x, y: at.y + within.y };
  }
  // A part keeps its corner, so that laying it out does not take it elsewhere.
  const whole = ids.length === Object.keys(document.nodes).length;
  const corner = (points: Point[]): Point => ({
    x: Math.min(...points.map(({ x }) => x)),
    y: Math.min(...points.map(({ y }) => y)),
  });
  const from = corner(Object.values(positions));
  const to = whole ? { x: 0, y: 0 } : corner(ids.map((id) => placeOf(document, id)));
  return mapped(positions, ({ x, y }) => ({ x: snap(x - from.x + to.x), y: snap(y - from.y + to.y) }));
}

const mapped = (places: Places, change: (point: Point) => Point): Places =>
  Object.fromEntries(Object.entries(places).map(([id, point]) => [id, change(point)]));

/** The smallest box around boxes at these places. */
function extent(places: Places, sizeOf: (id: string) => Size): Box {
  const boxes = Object.entries(places).map(([id, point]) => ({ ...point, ...sizeOf(id) }));
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  return {
    x,
    y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
  };
}

/** Places of units, which are nodes or whole groups; `unitOf` says in which unit a node stands. */
function arranged(
  document: GraphDocument,
  sizes: ReadonlyMap<string, Size>,
  unitOf: (id: string) => string | undefined,
  room: Size | null,
): Places {
  const sizeOf = (id: string): Size => sizes.get(id) ?? NODE_SIZE;
  const beside = new Map(
    [...argumentSources(document)].filter(([id, fed]) => sizes.has(id) && unitOf(fed) !== undefined),
  );
  const columns = ranks(document, sizes, unitOf, beside);
  let best: Places | null = null;
  let shown = 0;
  for (let rows = 1; rows <= columns.length && rows <= 40; rows++) {
    const places = inRows(columns, rows, sizeOf, beside, unitOf);
    if (!room) return places;
    const { width, height } = extent(places, sizeOf);
    const scale = Math.min(1, room.width / width, room.height / height);
    if (best === null || scale > shown * WORTH_A_ROW) [best, shown] = [places, scale];
    if (room.height / height < shown) break;
  }
  return best ?? {};
}

interface Column {
  width: number;
  /** Units with the distance of their top from that of the graph. */
  units: [id: string, top: number][];
}

/** The ranks of a graph from left to right, without the nodes that stand beside what they feed. */
function ranks(
  document: GraphDocument,
  sizes: ReadonlyMap<string, Size>,
  unitOf: (id: string) => string | undefined,
  beside: ReadonlyMap<string, string>,
): Column[] {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: NODE_GAP, ranksep: RANK_GAP, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  const main = [...sizes.keys()].filter((id) => !beside.has(id));
  // One height for all nodes: then tops stand in line and links run level between the titles. Higher ones push those
  // below them on afterwards.
  const heights = main.flatMap((id) => (document.nodes[id] ? [sizes.get(id)?.height ?? 0] : []));
  const alike = heights.sort((a, b) => a - b)[Math.floor(heights.length / 2)] ?? 0;
  for (const id of main) {
    const size = sizes.get(id) as Size;
    graph.setNode(id, { width: size.width, height: document.nodes[id] ? alike : size.height });
  }
  for (const { source, target } of links(document)) {
    const [from, to] = [unitOf(source.node), unitOf(target.node)];
    if (from === undefined || to === undefined || from === to || beside.has(from) || beside.has(to)) continue;
    if (sizes.has(from) && sizes.has(to)) graph.setEdge(from, to, { weight: isArgument(target) ? 1 : 4 });
  }
  dagreLayout(graph);
  const found = new Map<number, Column>();
  for (const id of main) {
    const node = graph.node(id) as Box;
    const middle = Math.round(node.x);
    const column = found.get(middle) ?? { width: 0, units: [] };
    column.width = Math.max(column.width, node.width);
    column.units.push([id, node.y - node.height / 2]);
    found.set(middle, column);
  }
  return [...found].sort(([a], [b]) => a - b).map(([, column]) => column);
}

/** Cuts columns into at most so many rows, as evenly as their widths allow. */
function cut(columns: readonly Column[], rows: number): Column[][] {
  const fill = (limit: number): Column[][] => {
    const result: Column[][] = [];
    let width = Infinity;
    for (const column of columns) {
      width += RANK_GAP + column.width;
      if (width > limit) {
        result.push([]);
        width = column.width;
      }
      result.at(-1)?.push(column);
    }
    return result;
  };
  let [least, most] = [
    Math.max(...columns.map(({ width }) => width)),
    columns.reduce((sum, { width }) => sum + width + RANK_GAP, 0),
  ];
  while (most - least > 1) {
    const limit = (least + most) / 2;
    if (fill(limit).length <= rows) most = limit;
    else least = limit;
  }
  return fill(most);
}

/** Columns in rows below each other, and beside each unit the nodes that only feed its arguments. */
function inRows(
  columns: readonly Column[],
  rows: number,
  sizeOf: (id: string) => Size,
  beside: ReadonlyMap<string, string>,
  unitOf: (id: string) => string | undefined,
): Places {
  const places: Places = {};
  const left = new Map(beside);
  let top = 0;
  const put = (id: string, point: Point, row: Box[]): void => {
    places[id] = point;
    row.push({ ...point, ...sizeOf(id) });
  };
  for (const part of columns.length > 0 ? cut(columns, rows) : []) {
    const highest = Math.min(...part.flatMap(({ units }) => units.map(([, y]) => y)));
    const row: Box[] = [];
    let x = 0;
    for (const { width, units } of part) {
      let free = top;
      for (const [id, y] of [...units].sort((a, b) => a[1] - b[1])) {
        const size = sizeOf(id);
        const at = { x: x + (width - size.width) / 2, y: Math.max(free, top + y - highest) };
        put(id, at, row);
        free = at.y + size.height + NODE_GAP;
      }
      x += width + RANK_GAP;
    }
    for (const [id, fed] of left) {
      const at = places[unitOf(fed) ?? ''];
      if (!at) continue;
      const size = sizeOf(id);
      put(id, freePlace({ x: at.x - size.width - RANK_GAP, y: at.y + 40 }, size, row), row);
      left.delete(id);
    }
    top = Math.max(...row.map((box) => box.y + box.height)) + ROW_GAP;
  }
  // Nodes that feed each other's arguments alone.
  let x = 0;
  for (const id of left.keys()) {
    put(id, { x, y: top }, []);
    x += sizeOf(id).width + RANK_GAP;
  }
  return places;
}

export function placeOf(document: GraphDocument, id: string): Point {
  const view = (document as Partial<GraphDocument>).view?.nodes[id];
  return { x: view?.x ?? 0, y: view?.y ?? 0 };
}

/** Position of a group that is shown as one node: the corner of its members. */
export function cornerOf(document: GraphDocument, members: readonly string[]): Point {
  const places = members.filter((id) => document.nodes[id]).map((id) => placeOf(document, id));
  return { x: Math.min(...places.map(({ x }) => x)), y: Math.min(...places.map(({ y }) => y)) };
}

/** Positions for the nodes of a document that have none: a file written by hand, or exported from code. */
export function missingPositions(
  document: GraphDocument,
  sizeOf: (id: string) => Size,
  room: Size | null = null,
): Record<string, Point> {
  const missing = Object.keys(document.nodes).filter((id) => document.view.nodes[id]?.x === undefined);
  if (missing.length === 0) return {};
  const all = autoLayout(document, sizeOf, undefined, room);
  if (missing.length === Object.keys(document.nodes).length) return all;
  return Object.fromEntries(missing.map((id) => [id, all[id] as Point]));
}

/** Whether boxes cover each other; those that touch do not. */
export function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** The place nearest below `at` that is free. */
export function freePlace(at: Point, size: Size, boxes: readonly Box[]): Point {
  const gap = 24;
  let box: Box = { ...size, x: snap(at.x), y: snap(at.y) };
  for (let tries = 0; tries < 200; tries++) {
    const hit = boxes.find((other) =>
      overlap(box, { ...other, width: other.width + gap, height: other.height + gap }),
    );
    if (!hit) break;
    // Upwards: rounded down, it would meet the same box again.
    box = { ...box, y: Math.ceil((hit.y + hit.height + gap) / GRID) * GRID };
  }
  return { x: box.x, y: box.y };
}

export type Alignment = 'left' | 'centre' | 'right' | 'top' | 'middle' | 'bottom' | 'across' | 'down';

/** Aligns boxes to their common edge or middle, or spreads them with equal gaps. */
export function align(boxes: Record<string, Box>, how: Alignment): Record<string, Point> {
  const entries = Object.entries(boxes);
  const all = entries.map(([, box]) => box);
  const left = Math.min(...all.map((box) => box.x));
  const top = Math.min(...all.map((box) => box.y));
  const right = Math.max(...all.map((box) => box.x + box.width));
  const bottom = Math.max(...all.map((box) => box.y + box.height));
  if (how === 'across' || how === 'down') {
    const axis = how === 'across' ? 'x' : 'y';
    const extent = how === 'across' ? 'width' : 'height';
    const sorted = [...entries].sort((a, b) => a[1][axis] - b[1][axis]);
    const used = all.reduce((sum, box) => sum + box[extent], 0);
    const span = how === 'across' ? right - left : bottom - top;
    const gap = Math.max(16, (span - used) / Math.max(1, entries.length - 1));
    let at = how === 'across' ? left : top;
    return Object.fromEntries(
      sorted.map(([id, box]) => {
        const place = { x: box.x, y: box.y, [axis]: Math.round(at) };
        at += box[extent] + gap;
        return [id, place];
      }),
    );
  }
  return Object.fromEntries(
    entries.map(([id, box]) => {
      const x =
        how === 'left'
          ? left
          : how === 'right'
            ? right - box.width
            : how === 'centre'
              ? (left + right - box.width) / 2
              : box.x;
      const y =
        how === 'top'
          ? top
          : how === 'bottom'
            ? bottom - box.height
            : how === 'middle'
              ? (top + bottom - box.height) / 2
              : box.y;
      return [id, { x: Math.round(x), y: Math.round(y) }];
    }),
  );
}
