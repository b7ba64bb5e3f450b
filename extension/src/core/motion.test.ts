import { expect, test } from 'vitest';
import { between, Motion, zoomed, type View } from './motion';

/** A pane whose pictures are drawn when the test says so. */
function pane(size = { width: 800, height: 600 }, start: View = { x: 0, y: 0, zoom: 1 }) {
  const seen: View[] = [];
  let view = start;
  let next: ((now: number) => void) | null = null;
  let marked = false;
  const motion = new Motion({
    size: () => size,
    view: () => view,
    look: (to) => {
      view = to;
      seen.push(to);
    },
    moving: (on) => {
      marked = on;
    },
    frame: (step) => {
      next = step;
      return 1;
    },
    cancel: () => {
      next = null;
    },
  });
  const draw = (now: number): void => {
    const step = next;
    next = null;
    step?.(now);
  };
  return {
    motion,
    size,
    seen,
    draw,
    view: () => view,
    moving: () => (expect(marked).toBe(next !== null), marked),
  };
}

const THERE: View = { x: -300, y: 40, zoom: 0.25 };

test('a view moves in steps and arrives exactly', () => {
  const { motion, seen, draw, view, moving } = pane();
  motion.to(() => THERE, 100);
  for (const now of [5000, 5030, 5060, 5099, 5130]) draw(now);
  expect(seen).toHaveLength(5);
  expect(seen[0]).toEqual({ x: 0, y: 0, zoom: 1 });
  for (let step = 1; step < seen.length; step += 1)
    expect((seen[step] as View).zoom).toBeLessThan((seen[step - 1] as View).zoom);
  expect(view()).toEqual(THERE);
  expect(moving()).toBe(false);
});

test('every point moves in a straight line', () => {
  const from: View = { x: 10, y: 20, zoom: 2 };
  const at = (view: View): number[] => [view.x + 30 * view.zoom, view.y - 50 * view.zoom];
  const [begin, end, middle] = [at(from), at(THERE), at(between(from, THERE, 0.4))] as [
    [number, number],
    [number, number],
    [number, number],
  ];
  const slope = (end[1] - begin[1]) / (end[0] - begin[0]);
  expect((middle[1] - begin[1]) / (middle[0] - begin[0])).toBeCloseTo(slope, 10);
  expect(between(from, THERE, 0)).toEqual(from);
  expect(between(from, THERE, 1)).toEqual(THERE);
});

test('a pane without a size keeps its view, and is there when it has one', () => {
  const { motion, size, seen, view, moving } = pane({ width: 0, height: 600 });
  motion.to(({ width, height }) => ({ x: width / 2, y: height / 2, zoom: 0.5 }), 100);
  motion.resized();
  expect(seen).toEqual([]);
  expect(moving()).toBe(false);
  size.width = 400;
  motion.resized();
  expect(view()).toEqual({ x: 200, y: 300, zoom: 0.5 });
  motion.resized();
  expect(seen).toHaveLength(1);
});

test('a pane that is hidden on the way ends it when it is shown', () => {
  const { motion, size, draw, view, seen } = pane();
  motion.to(() => THERE, 100);
  draw(0);
  size.width = size.height = 0;
  draw(50);
  for (const { x, y, zoom } of seen) expect([x, y, zoom].every(Number.isFinite)).toBe(true);
  size.width = 640;
  size.height = 480;
  motion.resized();
  expect(view()).toEqual(THERE);
});

test('a view that is nowhere is refused, and one that got there is left', () => {
  const { motion, seen, draw } = pane();
  for (const bad of [NaN, Infinity]) motion.to(() => ({ x: bad, y: 0, zoom: 1 }), 100);
  motion.to(() => ({ x: 0, y: 0, zoom: 0 }), 0);
  motion.to(() => null, 100);
  draw(0);
  expect(seen).toEqual([]);
  const lost = pane(undefined, { x: NaN, y: NaN, zoom: NaN });
  lost.motion.to(() => THERE, 100);
  expect(lost.view()).toEqual(THERE);
});

test('a second step begins where the first was going to end', () => {
  const { motion, draw, view } = pane();
  const zoom = (): void => motion.to((size, from) => zoomed(from, 2, size, 0.05, 2.5), 100);
  zoom();
  draw(0);
  draw(20);
  zoom();
  draw(30);
  draw(200);
  expect(view().zoom).toBe(2.5);
  // The middle of the pane stays where it is.
  expect((400 - view().x) / view().zoom).toBeCloseTo(400, 10);
});

test('whoever takes over is not moved any more', () => {
  const { motion, draw, seen, moving } = pane();
  motion.to(() => THERE, 100);
  draw(0);
  motion.stop();
  expect(moving()).toBe(false);
  draw(50);
  motion.resized();
  expect(seen).toHaveLength(1);
});
