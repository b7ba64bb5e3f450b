import { describe, expect, inject, it } from 'vitest';
import { photographs } from '../../testing/graphs';
import { Catalogue } from './catalogue';
import * as edits from './edits';
import type { GraphDocument, Group } from './document';
import { boundary, foldGroups, hiddenNodes, outputOfPort, portOf, targetOfPort } from './subgraphs';

const catalogue = new Catalogue(inject('catalogue'));

function grouped(nodes: string[]): [GraphDocument, Group] {
  const made = edits.addGroup(photographs(), nodes, 'Augment');
  const document = edits.setGroup(made, 'group', { collapsed: true });
  return [document, document.view.groups[0] as Group];
}

describe('boundary', () => {
  it('has a port for each link that crosses it', () => {
    const [document, group] = grouped(['rotate', 'brightness_contrast']);
    expect(boundary(document, catalogue, group)).toEqual({
      inputs: [
        { target: { node: 'rotate', argument: 'angle' }, label: 'rotate · angle', kind: 'tensor' },
        { target: { node: 'rotate', input: 0 }, label: 'rotate', kind: 'image' },
      ],
      outputs: [
        { source: { node: 'brightness_contrast', output: 0 }, label: 'brightness_contrast', kind: 'image' },
      ],
    });
    expect([...hiddenNodes(document).keys()]).toEqual(['rotate', 'brightness_contrast']);
  });

  it('has a port for what ends in it and for what waits for an input', () => {
    const [document, group] = grouped(['reader', 'normalize']);
    const ports = boundary(document, catalogue, group);
    expect(ports.outputs.map(({ label }) => label)).toEqual([
      'reader · encoded',
      'reader · labels',
      'normalize',
    ]);
    const [cut] = [edits.disconnect(document, { node: 'normalize', input: 0 })];
    expect(boundary(cut, catalogue, group).inputs).toHaveLength(1);
  });
});

describe('ports', () => {
  it('are found again by their names', () => {
    for (const source of [
      { node: 'a', output: 0 },
      { node: 'a b.c', output: 3 },
    ]) {
      expect(outputOfPort('group:g', portOf.output(source, true))).toEqual(source);
      expect(outputOfPort(source.node, portOf.output(source, false))).toEqual(source);
    }
    for (const target of [
      { node: 'a', input: 2 },
      { node: 'in', argument: 'angle' },
    ]) {
      expect(targetOfPort('group:g', portOf.target(target, true))).toEqual(target);
      expect(targetOfPort(target.node, portOf.target(target, false))).toEqual(target);
    }
  });
});

describe('foldGroups', () => {
  it('has a node for a collapsed group, wired as its members are', () => {
    const [document] = grouped(['rotate', 'brightness_contrast']);
    const before = Object.keys(document.nodes);
    const { document: folded, sizes } = foldGroups(document);
    expect([...sizes]).toEqual([['Augment', 2]]);
    expect(Object.keys(folded.nodes).sort()).toEqual(
      [...before.filter((id) => id !== 'rotate' && id !== 'brightness_contrast'), 'Augment'].sort(),
    );
    const inputs = folded.nodes['Augment']?.inputs ?? [];
    expect(new Set(inputs).size).toBe(inputs.length);
    expect(inputs).not.toContain('Augment');
    const fed = Object.values(folded.nodes).filter((node) => node.inputs?.includes('Augment'));
    expect(fed.length + folded.outputs.filter((edge) => edge === 'Augment').length).toBeGreaterThan(0);
  });

  it('leaves a document without such groups as it is', () => {
    const [document] = grouped(['rotate', 'brightness_contrast']);
    const open = edits.setGroup(document, 'group', { collapsed: false });
    expect(foldGroups(open).document).toBe(open);
    const bare = { ...open, view: undefined } as unknown as GraphDocument;
    expect(foldGroups(bare).document).toBe(bare);
  });
});
