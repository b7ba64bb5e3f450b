import { expect, test } from 'vitest';
import { insertInto } from './edits';
import type { GraphDocument } from './document';
import { NODE_SIZE, placeOf } from './layout';
import { makeRoom } from './room';

const WIDTH = NODE_SIZE.width;

function chain(view: Record<string, { x: number; y: number }>): GraphDocument {
  return {
    pipeline: {},
    nodes: {
      a: { op: 'a' },
      b: { op: 'b', inputs: ['a:0'] },
      c: { op: 'c', inputs: ['b:0'] },
      fresh: { op: 'flip' },
    },
    outputs: ['c:0'],
    view: { nodes: view, groups: [], notes: [{ id: 'n', text: '', x: 600, y: 200, w: 100, h: 50 }] },
  } as unknown as GraphDocument;
}

const link = { source: { node: 'a', output: 0 }, target: { node: 'b', input: 0 } };

function inserted(document: GraphDocument): GraphDocument {
  return makeRoom(insertInto(document, 'fresh', link.source, link.target), 'fresh', link);
}

test('a node in a narrow link pushes on what stands right of it, notes too', () => {
  const step = WIDTH + 44;
  const document = inserted(
    chain({ a: { x: 0, y: 0 }, b: { x: step, y: 0 }, c: { x: 2 * step, y: 90 }, fresh: { x: 120, y: -8 } }),
  );
  const places = ['a', 'fresh', 'b', 'c'].map((id) => placeOf(document, id));
  expect(places).toEqual([
    { x: 0, y: 0 },
    { x: step, y: 0 },
    { x: 2 * step, y: 0 },
    { x: 3 * step, y: 90 },
  ]);
  expect(document.view.notes[0]?.x).toBe(600 + step);
});

test('nothing moves where there is room, nor in a link that leads back', () => {
  const wide = chain({
    a: { x: 0, y: 0 },
    b: { x: 900, y: 0 },
    c: { x: 1200, y: 0 },
    fresh: { x: 400, y: 0 },
  });
  expect(inserted(wide).view).toEqual(wide.view);
  const back = chain({
    a: { x: 500, y: 0 },
    b: { x: 0, y: 0 },
    c: { x: 1200, y: 0 },
    fresh: { x: 300, y: 0 },
  });
  expect(inserted(back).view).toEqual(back.view);
});

test('a node that was dropped well below the link stays there', () => {
  const below = chain({
    a: { x: 0, y: 0 },
    b: { x: 256, y: 0 },
    c: { x: 512, y: 0 },
    fresh: { x: 120, y: 700 },
  });
  expect(inserted(below).view).toEqual(below.view);
});
