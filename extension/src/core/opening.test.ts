import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { emptyDocument, type GraphDocument } from './document';
import { History } from './history';
import { Opening } from './opening';
import type { CanvasPort } from './state';

const CHAIN: GraphDocument = {
  ...emptyDocument(),
  nodes: Object.fromEntries(
    Array.from({ length: 12 }, (_, at) => [`n${at}`, { op: 'flip', inputs: at === 0 ? [] : [`n${at - 1}`] }]),
  ),
};
const ROOM = { width: 900, height: 560 };

let height: number;
let moving: boolean;
let room: typeof ROOM | null;

beforeEach(() => {
  vi.useFakeTimers();
  height = 150;
  moving = false;
  room = ROOM;
});

afterEach(() => {
  vi.useRealTimers();
});

function opened(): { history: History; opening: Opening } {
  const history = new History(CHAIN);
  const canvas = { sizeOf: () => ({ width: 240, height }), room: () => room } as unknown as CanvasPort;
  const opening = new Opening(
    history,
    () => canvas,
    () => moving,
  );
  opening.begin();
  return { history, opening };
}

const rowsOf = ({ view }: GraphDocument): number[] => [
  ...new Set(Object.values(view.nodes).map(({ y }) => y ?? 0)),
];

it('lays a document out by its cards as they are near, not by those of the view before it', () => {
  const { history, opening } = opened();
  // The pictures were there already; the canvas still shows small cards of a long graph, and then moves to this one.
  opening.pictured();
  vi.advanceTimersByTime(300);
  expect(opening.settled.get()).toBe(false);
  moving = true;
  opening.shown();
  vi.advanceTimersByTime(300);
  expect(opening.settled.get()).toBe(false);
  moving = false;
  height = 360;
  vi.advanceTimersByTime(300);
  opening.shown();
  expect(opening.settled.get()).toBe(true);
  const rows = rowsOf(history.document);
  expect(rows.length).toBeGreaterThan(1);
  for (const [at, row] of rows.slice(1).entries()) expect(row - (rows[at] ?? 0)).toBeGreaterThan(360);
});

it('waits for a canvas that is hidden until it is shown, and not for one that never shows the whole', () => {
  room = null;
  const { opening } = opened();
  opening.pictured();
  vi.advanceTimersByTime(20_000);
  expect(opening.settled.get()).toBe(false);
  room = ROOM;
  opening.shown();
  vi.advanceTimersByTime(300);
  opening.shown();
  expect(opening.settled.get()).toBe(true);
  const other = opened().opening;
  other.pictured();
  vi.advanceTimersByTime(20_000);
  other.shown();
  expect(other.settled.get()).toBe(true);
});
