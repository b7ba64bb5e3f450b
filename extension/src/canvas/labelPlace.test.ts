import { describe, expect, it } from 'vitest';
import { labelPlace } from './labelPlace';

const curve = [
  { x: 0, y: 0 },
  { x: 100, y: 0 },
  { x: 200, y: 0 },
  { x: 300, y: 0 },
] as const;
const label = { width: 40, height: 14 };

describe('the label of a link', () => {
  it('stands in the middle where that is free', () => {
    expect(labelPlace(curve, label, [])).toEqual({ x: 150, y: 0 });
    expect(labelPlace(curve, label, [{ x: 140, y: 10, width: 20, height: 20 }])).toEqual({ x: 150, y: 0 });
  });

  it('moves along the link away from a node that lies over it', () => {
    const node = { x: 120, y: -50, width: 60, height: 100 };
    const { x, y } = labelPlace(curve, label, [node]);
    expect(y).toBeCloseTo(0);
    expect(x + 20 <= node.x || x - 20 >= node.x + node.width).toBe(true);
  });

  it('stands above two nodes between which it has no room', () => {
    const nodes = [
      { x: -200, y: -12, width: 330, height: 300 },
      { x: 160, y: -12, width: 330, height: 300 },
    ];
    expect(labelPlace(curve, label, nodes)).toEqual({ x: 150, y: -30 });
  });

  it('stays in the middle where nodes lie over the whole link', () => {
    expect(labelPlace(curve, label, [{ x: -100, y: -50, width: 600, height: 100 }])).toEqual({
      x: 150,
      y: 0,
    });
  });
});
