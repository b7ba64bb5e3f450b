import { describe, expect, inject, it } from 'vitest';
import { photographs } from '../../testing/graphs';
import { Catalogue } from './catalogue';
import { apply, diff } from './changes';
import { joinOpen, offer, removeDefinition, renameDefinition, subgraphOperators } from './definitions';
import type { GraphDocument, Group } from './document';
import * as edits from './edits';
import { groupBox, NODE_SIZE } from './layout';
import { closeSubgraph, makeSubgraph, openSubgraph, subgraphProblem } from './openDefinitions';

const operators = new Catalogue(inject('catalogue'));
const withOf = (document: GraphDocument): Catalogue =>
  operators.with(subgraphOperators(document.subgraphs ?? {}, operators));

function made(): GraphDocument {
  return makeSubgraph(photographs(), operators, ['rotate', 'brightness_contrast'], 'augment').document;
}

function opened(document: GraphDocument, id: string): [GraphDocument, Group] {
  const result = openSubgraph(document, id);
  if (!result) throw new Error('not opened');
  return [result.document, result.document.view.groups.find((each) => each.id === result.group) as Group];
}

describe('a sub-graph', () => {
  it('takes what comes in, gives what goes out, and offers the arguments that are set', () => {
    const document = made();
    const definition = document.subgraphs?.['augment'];
    expect(definition?.inputs).toEqual(['images']);
    expect(definition?.outputs).toEqual(['brightness_contrast']);
    expect(definition?.nodes['rotate']?.inputs).toEqual(['images']);
    // Another use begins without a problem.
    expect(definition?.nodes['rotate']?.arguments?.['angle']).toBe(
      operators.operator('rotate')?.start?.['angle'],
    );
    expect(document.nodes['augment']?.inputs).toEqual(photographs().nodes['rotate']?.inputs);
    expect(document.nodes['augment']?.connections).toEqual({ angle: 'random_angle' });
    expect(document.nodes['normalize']?.inputs).toEqual(['augment']);
    const operator = withOf(document).operator('subgraph.augment');
    expect(operator?.inputs.map(({ kind }) => kind)).toEqual(['image']);
    expect(operator?.outputs.map(({ kind }) => kind)).toEqual(['image']);
    expect(operator?.arguments.find(({ name }) => name === 'brightness')?.default).toBe(1.1);
  });

  it('stands where what comes in was taken, also where its nodes are wrapped into rows', () => {
    const start = photographs();
    const view = {
      ...start.view,
      nodes: { rotate: { x: 600, y: 0 }, brightness_contrast: { x: 0, y: 400 } },
    };
    const { document } = makeSubgraph(
      { ...start, view },
      operators,
      ['rotate', 'brightness_contrast'],
      'augment',
    );
    expect(document.view.nodes['augment']).toEqual({ x: 600, y: 0 });
  });

  it('has the outputs that its nodes are asked for', () => {
    const small = makeSubgraph(photographs(), operators, ['decode', 'resize'], 'small').document;
    expect(small.subgraphs?.['small']?.outputs).toEqual(['resize']);
    expect(
      withOf(small)
        .operator('subgraph.small')
        ?.outputs.map(({ name }) => name),
    ).toEqual(['data']);
    const asked = edits.setArgument(photographs(), 'resize', 'save_attrs', true);
    const both = makeSubgraph(asked, operators, ['resize'], 'both').document;
    expect(
      withOf(both)
        .operator('subgraph.both')
        ?.outputs.map(({ name }) => name),
    ).toEqual(['data', 'sizes']);
  });

  it('comes back by undo, and travels as changes', () => {
    const [before, after] = [photographs(), made()];
    expect(apply(before, diff(before, after))).toEqual(after);
    expect(apply(after, diff(after, before))).toEqual(before);
  });

  it('opens into its nodes and closes into the same', () => {
    const start = edits.setArgument(made(), 'augment', 'brightness', 1.5);
    const [document, group] = opened(start, 'augment');
    expect(document.nodes['brightness_contrast']?.arguments?.['brightness']).toBe(1.5);
    expect(document.nodes['normalize']?.inputs).toEqual(['brightness_contrast']);
    const closed = closeSubgraph(document, withOf(document), group);
    expect(closed?.document.subgraphs).toEqual(start.subgraphs);
    expect(closed?.document.nodes).toEqual(start.nodes);
  });

  it('is continued at its end, and all uses follow', () => {
    const start = edits.pasteNodes(made(), edits.copyNodes(made(), ['augment']), { x: 0, y: 900 }).document;
    const [document, group] = opened(start, 'augment_2');
    const added = edits.addNode(document, { op: 'flip' }, { x: 9999, y: 0 });
    const linked = edits.connect(
      added.document,
      { node: 'brightness_contrast', output: 0 },
      { node: 'flip', input: 0 },
    );
    const joined = joinOpen(document, linked, () => NODE_SIZE);
    const now = joined.view.groups.find(({ id }) => id === group.id) as Group;
    expect(now.nodes).toContain('flip');
    const closed = closeSubgraph(joined, withOf(joined), now)?.document;
    expect(closed?.subgraphs?.['augment']?.outputs).toEqual(['flip']);
    expect(closed?.nodes['normalize']?.inputs).toEqual(['augment']);
  });

  it('keeps names inside where they are taken outside', () => {
    const other = edits.addNode(made(), { op: 'rotate' }, { x: 0, y: 0 }).document;
    const [document, group] = opened(other, 'augment');
    expect(group.nodes).toEqual(['rotate_2', 'brightness_contrast']);
    const renamed = edits.renameNode(document, 'brightness_contrast', 'light');
    const now = renamed.view.groups.find(({ id }) => id === group.id) as Group;
    const closed = closeSubgraph(renamed, withOf(renamed), now)?.document;
    expect(Object.keys(closed?.subgraphs?.['augment']?.nodes ?? {})).toEqual(['rotate', 'light']);
    expect(Object.keys(closed?.subgraphs?.['augment']?.arguments ?? {})).toEqual(
      Object.keys(made().subgraphs?.['augment']?.arguments ?? {}),
    );
  });

  it('can be made of sub-graphs', () => {
    const start = made();
    const outer = makeSubgraph(start, withOf(start), ['augment', 'normalize'], 'ready').document;
    expect(outer.subgraphs?.['ready']?.nodes['augment']?.op).toBe('subgraph.augment');
    expect(outer.outputs[0]).toBe('ready');
    const operator = withOf(outer).operator('subgraph.ready');
    expect(operator?.inputs[0]?.kind).toBe('image');
    expect(removeDefinition(outer, 'augment')).toBeNull();
    const renamed = renameDefinition(outer, 'augment', 'turn');
    expect(renamed.subgraphs?.['ready']?.nodes['augment']?.op).toBe('subgraph.turn');
  });

  it('opens and closes within another that is open', () => {
    const start = made();
    const outer = makeSubgraph(start, withOf(start), ['augment', 'normalize'], 'ready').document;
    const [ready, group] = opened(outer, 'ready');
    const [both, inner] = opened(ready, group.nodes[0] as string);
    const find = (document: GraphDocument, { id }: Group): Group =>
      document.view.groups.find((each) => each.id === id) as Group;
    expect(find(both, group).nodes).toEqual(['rotate', 'brightness_contrast', 'normalize']);
    const [around, within] = [group, inner].map((each) => groupBox(both, find(both, each), () => NODE_SIZE));
    expect(around?.y).toBeLessThan(within?.y ?? 0);
    // The inner one first, or the outer one at once: both are as before.
    const first = closeSubgraph(both, withOf(both), inner)?.document as GraphDocument;
    expect(find(first, group).nodes).toHaveLength(2);
    for (const document of [first, both]) {
      const closed = closeSubgraph(document, withOf(document), find(document, group))?.document;
      expect(closed?.subgraphs).toEqual(outer.subgraphs);
      expect(closed?.nodes).toEqual(outer.nodes);
      expect(closed?.view.groups).toEqual([]);
    }
    // A node inside may have the name of the instance.
    const named = edits.renameNode(outer, 'ready', 'augment');
    expect(opened(named, 'augment')[0].nodes['normalize']?.inputs).toEqual(['augment']);
    // Where it is all there is in the outer one, too.
    const alone = makeSubgraph(start, withOf(start), ['augment'], 'only').document;
    const [only, frame] = opened(alone, 'only');
    const [deep] = opened(only, frame.nodes[0] as string);
    const closed = closeSubgraph(deep, withOf(deep), find(deep, frame))?.document;
    expect(closed?.subgraphs).toEqual(alone.subgraphs);
    expect(closed?.nodes).toEqual(alone.nodes);
  });

  it('offers arguments or not', () => {
    const given = edits.setArgument(made(), 'augment', 'contrast', 2);
    const without = offer(given, 'augment', 'brightness_contrast', 'contrast', false);
    expect(without.nodes['augment']?.arguments).toEqual({});
    const again = offer(without, 'augment', 'brightness_contrast', 'contrast', true);
    expect(again.subgraphs?.['augment']?.arguments?.['contrast']).toEqual([
      { node: 'brightness_contrast', argument: 'contrast' },
    ]);
  });

  it('has no node between its nodes', () => {
    expect(subgraphProblem(photographs(), ['resize', 'brightness_contrast'])).toContain('rotate');
    expect(subgraphProblem(photographs(), ['resize', 'rotate'])).toBeNull();
  });
});

describe('the clipboard', () => {
  it('takes definitions along, under a free name where another has theirs', () => {
    const clip = edits.copyNodes(made(), ['augment']);
    const elsewhere = edits.pasteNodes(photographs(), clip, { x: 0, y: 0 }).document;
    expect(elsewhere.subgraphs).toEqual(made().subgraphs);
    const other = offer(made(), 'augment', 'rotate', 'keep_size', false);
    const both = edits.pasteNodes(other, clip, { x: 0, y: 0 });
    expect(Object.keys(both.document.subgraphs ?? {})).toEqual(['augment', 'augment_2']);
    expect(both.document.nodes[both.ids[0] as string]?.op).toBe('subgraph.augment_2');
  });
});
