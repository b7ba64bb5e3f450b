/** Automatic layout, free places for new nodes, alignment: where things stand on the canvas. */
import { graphlib, layout as dagreLayout } from '@dagrejs/dagre';
import { isArgument, links, parseEdge, type GraphDocument } from './document';
import type { Point } from './edits';

export interface Size {
  width: number;
  height: number;
}

export interface Box extends Point, Size {}

export const GRID = 8;
export const NODE_SIZE: Size = { width: 212, height: 312 };

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

/** Positions for all nodes, or for those named: ranks from left to right. */
export function autoLayout(
  document: GraphDocument,
  sizeOf: (id: string) => Size,
  ids: readonly string[] = Object.keys(document.nodes),
): Record<string, Point> {
  const sources = argumentSources(document);
  const chosen = new Set(ids.filter((id) => !sources.has(id)));
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 28, ranksep: 44, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  // One height for all: then tops stand in line and links run level between the titles.
  const height = Math.max(0, ...[...chosen].map((id) => sizeOf(id).height));
  for (const id of chosen) graph.setNode(id, { width: sizeOf(id).width, height });
  for (const { source, target } of links(document)) {
    if (chosen.has(source.node) && chosen.has(target.node)) {
      graph.setEdge(source.node, target.node, { weight: isArgument(target) ? 1 : 4 });
    }
  }
  dagreLayout(graph);
  const positions: Record<string, Point> = {};
  const placed: Box[] = [];
  for (const id of chosen) {
    const node = graph.node(id) as Box;
    positions[id] = { x: node.x - node.width / 2, y: node.y - node.height / 2 };
    placed.push({ ...positions[id], ...sizeOf(id) });
  }
  for (const id of ids) {
    const fed = sources.get(id);
    if (fed === undefined) continue;
    const target = positions[fed] ?? placeOf(document, fed);
    const size = sizeOf(id);
    const at = { x: target.x - size.width - 44, y: target.y + 40 };
    positions[id] = freePlace(at, size, placed);
    placed.push({ ...positions[id], ...size });
  }
  const first = ids[0];
  if (first === undefined) return positions;
  // A part keeps its corner, so that laying it out does not take it elsewhere.
  const whole = ids.length === Object.keys(document.nodes).length;
  const corner = (points: Point[]): Point => ({
    x: Math.min(...points.map(({ x }) => x)),
    y: Math.min(...points.map(({ y }) => y)),
  });
  const from = corner(Object.values(positions));
  const to = whole ? { x: 0, y: 0 } : corner(ids.map((id) => placeOf(document, id)));
  for (const id of ids) {
    const { x, y } = positions[id] as Point;
    positions[id] = { x: snap(x - from.x + to.x), y: snap(y - from.y + to.y) };
  }
  return positions;
}

export function placeOf(document: GraphDocument, id: string): Point {
  const view = document.view.nodes[id];
  return { x: view?.x ?? 0, y: view?.y ?? 0 };
}

/** Positions for the nodes of a document that have none: a file written by hand, or exported from code. */
export function missingPositions(
  document: GraphDocument,
  sizeOf: (id: string) => Size,
): Record<string, Point> {
  const missing = Object.keys(document.nodes).filter((id) => document.view.nodes[id]?.x === undefined);
  if (missing.length === 0) return {};
  const all = autoLayout(document, sizeOf);
  if (missing.length === Object.keys(document.nodes).length) return all;
  return Object.fromEntries(missing.map((id) => [id, all[id] as Point]));
}

function overlap(a: Box, b: Box): boolean {
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

/** `at` itself where a box of this size covers no other, else the place nearest below it. */
export function clearPlace(at: Point, size: Size, boxes: readonly Box[]): Point {
  return boxes.some((other) => overlap({ ...size, ...at }, other)) ? freePlace(at, size, boxes) : at;
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
