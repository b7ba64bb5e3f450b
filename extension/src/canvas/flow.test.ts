import { expect, it } from 'vitest';
import { Catalogue } from '../core/catalogue';
import { emptyDocument, type GraphDocument } from '../core/document';
import type { Selection } from '../core/editor';
import { flowName, graphName } from '../core/flowNames';
import { outputOfPort, portOf, targetOfPort } from '../core/subgraphs';
import { fitFrames, flowEdges, flowNodes, titlesAsFrames } from './flow';

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

const ODD = ['a "quoted" name', 'back\\slash', '100 % %22', "it's [x]", 'größer 大', 'a\nb'];

it('has names without what ends a selector, and knows each again', () => {
  for (const name of ODD) {
    expect(flowName(name)).not.toMatch(/["\\\n]/);
    expect(graphName(flowName(name))).toBe(name);
  }
  const document = { ...graph(1), nodes: Object.fromEntries(ODD.map((name) => [name, { op: 'resize' }])) };
  expect(flowNodes(document, nothing, [], sizeOf).map(({ id }) => graphName(id))).toEqual(ODD);
});

it('finds the ends of links by ports of nodes and of groups', () => {
  for (const node of ODD) {
    const [source, input, argument] = [
      { node, output: 1 },
      { node, input: 2 },
      { node, argument: 'angle' },
    ];
    for (const inside of [false, true]) {
      const element = flowName(inside ? 'group:a "b"' : node);
      expect(outputOfPort(element, portOf.output(source, inside))).toEqual(source);
      expect(targetOfPort(element, portOf.target(input, inside))).toEqual(input);
      expect(targetOfPort(element, portOf.target(argument, inside))).toEqual(argument);
    }
  }
});

it('moves a title and its frame by one step, whichever is dragged', () => {
  const groups = [{ id: 'g', title: 'Size', nodes: ['resize'] }];
  const document = { ...graph(1), view: { ...graph(1).view, groups } };
  const nodes = flowNodes(document, nothing, [], sizeOf);
  const [frame, title] = nodes.slice(0, 2);
  expect([frame?.type, title?.type]).toEqual(['frame', 'title']);
  expect(title?.position).toEqual(frame?.position);
  expect(title?.width).toBe(frame?.width);
  // The frame lies under links, and its title over them.
  expect(frame?.zIndex).toBeLessThan(0);
  expect(title?.zIndex).toBe(0);
  const wider = fitFrames(document, nodes, () => ({ width: 400, height: 100 }));
  expect(wider[1]?.width).toBe(wider[0]?.width);
  expect(wider[1]?.width).not.toBe(title?.width);

  const move = (id: string) => ({ id, type: 'position' as const, position: { x: 5, y: 6 } });
  const both = [move('group:g'), move('title:g')];
  for (const changes of [[move('title:g')], [move('group:g')], both])
    expect(titlesAsFrames(changes)).toEqual(both);
  expect(titlesAsFrames([{ id: 'title:g', type: 'select', selected: true }])).toEqual([
    { id: 'group:g', type: 'select', selected: true },
  ]);
  expect(titlesAsFrames([move('resize')])).toEqual([move('resize')]);
});
