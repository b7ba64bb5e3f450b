import { describe, expect, it } from 'vitest';
import { long, photographs, three, trouble } from '../../testing/graphs';
import * as edits from './edits';
import { links } from './document';
import { align, autoLayout, freePlace, missingPositions, type Box } from './layout';

const size = { width: 212, height: 300 };

function overlaps(positions: Record<string, { x: number; y: number }>): [string, string][] {
  const all = Object.entries(positions);
  return all.flatMap(([a, first], index) =>
    all
      .slice(index + 1)
      .filter(
        ([, second]) =>
          Math.abs(first.x - second.x) < size.width && Math.abs(first.y - second.y) < size.height,
      )
      .map(([b]): [string, string] => [a, b]),
  );
}

describe('autoLayout', () => {
  it.each([photographs, trouble, long])('puts no node over another: $name', (make) => {
    expect(overlaps(autoLayout(make(), () => size))).toEqual([]);
  });

  it('goes from left to right along links of images', () => {
    const document = photographs();
    const at = autoLayout(document, () => size);
    for (const { source, target } of links(document)) {
      expect(at[source.node]?.x).toBeLessThan(at[target.node]?.x ?? 0);
    }
  });

  it('keeps the main line level and random nodes below it', () => {
    const at = autoLayout(photographs(), () => size);
    const line = ['reader', 'decode', 'resize', 'rotate', 'brightness_contrast', 'normalize'];
    expect(new Set(line.map((id) => at[id]?.y)).size).toBe(1);
    expect(at['random_angle']?.y).toBeGreaterThan((at['rotate']?.y ?? 0) + 40);
  });

  it('moves only what is named, and keeps its corner', () => {
    const document = edits.moveNodes(photographs(), {
      rotate: { x: 800, y: 640 },
      brightness_contrast: { x: 900, y: 800 },
    });
    const at = autoLayout(document, () => size, ['rotate', 'brightness_contrast']);
    expect(Object.keys(at)).toEqual(['rotate', 'brightness_contrast']);
    expect(at['rotate']).toEqual({ x: 800, y: 640 });
  });

  it('wraps a long chain into rows where it is then shown larger', () => {
    const names = ['reader', 'decode', ...Array.from({ length: 8 }, (_, index) => `rotate_${index}`)];
    const nodes = Object.fromEntries(
      names.map((id, index) => [id, { op: 'rotate', inputs: index > 0 ? [names[index - 1] as string] : [] }]),
    );
    const document = { ...three(), nodes, outputs: [] };
    const room = { width: 936, height: 532 };
    const at = autoLayout(document, () => size, names, room);
    expect(overlaps(at)).toEqual([]);
    expect(new Set(Object.values(at).map(({ y }) => y)).size).toBe(2);
    expect(names.map((id) => at[id]?.x)).toEqual([...names.keys()].map((index) => (index % 5) * 256));
    // In a room that is wide and low one row is larger.
    const low = autoLayout(document, () => size, names, { width: 2400, height: 320 });
    expect(new Set(Object.values(low).map(({ y }) => y)).size).toBe(1);
  });

  it('keeps the members of a group together, and others out of its frame', () => {
    const document = photographs();
    const members = ['decode', 'normalize'];
    document.view.groups = [{ id: 'g', title: 'Group', nodes: members }];
    const at = autoLayout(document, () => size, undefined, { width: 1000, height: 1000 });
    expect(overlaps(at)).toEqual([]);
    const xs = members.map((id) => at[id]?.x ?? 0);
    const ys = members.map((id) => at[id]?.y ?? 0);
    for (const [id, { x, y }] of Object.entries(at)) {
      if (members.includes(id)) continue;
      const beside = x + size.width <= Math.min(...xs) - 24 || x >= Math.max(...xs) + size.width + 24;
      const above = y + size.height <= Math.min(...ys) - 44 || y >= Math.max(...ys) + size.height + 24;
      expect(beside || above, id).toBe(true);
    }
  });

  it('gives an empty graph nothing', () => {
    expect(autoLayout({ ...three(), nodes: {} }, () => size)).toEqual({});
  });
});

describe('places', () => {
  it('are given to those that have none', () => {
    expect(Object.keys(missingPositions(three(), () => size))).toHaveLength(3);
    const placed = edits.moveNodes(three(), { reader: { x: 5, y: 5 }, decode: { x: 400, y: 5 } });
    expect(Object.keys(missingPositions(placed, () => size))).toEqual(['blur']);
  });

  it('are free', () => {
    const boxes: Box[] = [{ x: 0, y: 0, ...size }];
    const at = freePlace({ x: 10, y: 10 }, size, boxes);
    expect(at.y).toBeGreaterThanOrEqual(300);
    expect(freePlace({ x: 500, y: 8 }, size, boxes)).toEqual({ x: 504, y: 8 });
  });

  it('align and spread', () => {
    const boxes = {
      a: { x: 0, y: 10, ...size },
      b: { x: 300, y: 50, ...size },
      c: { x: 1000, y: 0, ...size },
    };
    expect(align(boxes, 'top')).toEqual({ a: { x: 0, y: 0 }, b: { x: 300, y: 0 }, c: { x: 1000, y: 0 } });
    expect(align(boxes, 'across')['b']).toEqual({ x: 500, y: 50 });
  });
});
