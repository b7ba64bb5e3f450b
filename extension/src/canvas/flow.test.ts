import { expect, it } from 'vitest';
import { Catalogue } from '../core/catalogue';
import { emptyDocument, type GraphDocument } from '../core/document';
import type { Selection } from '../core/editor';
import { flowEdges, flowNodes } from './flow';

const catalogue = new Catalogue({ operators: [], families: [] });
const nothing: Selection = { nodes: new Set(), links: new Set(), item: null };
const sizeOf = () => ({ width: 240, height: 100 });
const graph = (size: number): GraphDocument => ({
  ...emptyDocument(),
  nodes: {
    reader: { op: 'readers.file' },
    resize: { op: 'resize', inputs: ['reader'], arguments: { size } },
  },
});

it('has the same lists after an edit of an argument, and others after one of the selection', () => {
  const [before, after] = [graph(1), graph(2)];
  const nodes = flowNodes(before, nothing, [], sizeOf);
  const edges = flowEdges({ document: before, catalogue }, nothing, []);
  expect(nodes.map(({ id }) => id)).toEqual(['reader', 'resize']);
  expect(edges).toHaveLength(1);
  expect(flowNodes(after, nothing, nodes, sizeOf)).toBe(nodes);
  expect(flowEdges({ document: after, catalogue }, nothing, edges)).toBe(edges);
  const chosen = flowNodes(after, { ...nothing, nodes: new Set(['resize']) }, nodes, sizeOf);
  expect(chosen.map(({ selected }) => selected)).toEqual([false, true]);
  expect(chosen[0]).toBe(nodes[0]);
});
