import { expect, it } from 'vitest';
import { overviewCorner } from './overview';

const room = { width: 1000, height: 600 };
const node = (x: number, y: number) => ({ x, y, width: 200, height: 200 });

it('has no minimap where the graph is seen whole', () => {
  expect(overviewCorner([node(0, 0), node(800, 400)], room, true)).toBeNull();
});

it('stands in a corner without nodes', () => {
  expect(overviewCorner([node(-100, 100)], room, false)).toBe('bottom-right');
  expect(overviewCorner([node(-100, 100), node(780, 380)], room, false)).toBe('bottom-left');
  expect(overviewCorner([node(780, 380), node(0, 450)], room, false)).toBe('top-right');
});

it('lies over nodes only in a view that the person took', () => {
  const all = [node(-20, 0), node(0, 400), node(790, 0), node(790, 400)];
  expect(overviewCorner(all, room, false)).toBeNull();
  expect(overviewCorner(all, room, true)).toBe('bottom-right');
});
