import { expect, test } from 'vitest';
import { differing } from './beside';
import { without } from './edits/rewriting';
import { emptyDocument, type GraphDocument } from './document';

const graph = (angle: number, sigma: number): GraphDocument => ({
  ...emptyDocument(),
  nodes: {
    read: { op: 'readers.file' },
    turn: { op: 'rotate', inputs: ['read'], arguments: { angle } },
    soft: { op: 'subgraph.soft', inputs: ['turn'] },
  },
  subgraphs: {
    soft: {
      inputs: ['x'],
      nodes: { blur: { op: 'gaussian_blur', inputs: ['x'], arguments: { sigma } } },
      outputs: ['blur'],
    },
  },
});

test('nodes differ by what they do, and not by where they lie', () => {
  const one = graph(10, 1);
  expect([...differing(one, graph(10, 1))]).toEqual([]);
  expect([...differing(one, graph(20, 2))]).toEqual(['turn', 'soft']);
  const more = { ...one, nodes: { ...without(one.nodes, new Set(['read'])), more: { op: 'readers.file' } } };
  expect([...differing(one, more)]).toEqual(['read', 'more']);
  const view = { ...one.view, nodes: { read: { x: 9, y: 9 }, turn: { bypass: true } } };
  expect([...differing(one, { ...one, view })]).toEqual(['turn']);
});
