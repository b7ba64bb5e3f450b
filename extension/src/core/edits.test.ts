import { describe, expect, it } from 'vitest';
import * as edits from './edits';
import type { GraphDocument, GraphNode } from './document';
import { checkDocument, DocumentError, emptyDocument, nameProblem } from './document';
import { readGraph } from './text';

const node = (op: string, inputs: (string | null)[] = [], more: Partial<GraphNode> = {}): GraphNode => ({
  op,
  device: 'cpu',
  inputs,
  arguments: {},
  connections: {},
  ...more,
});

function chain(): GraphDocument {
  return {
    ...emptyDocument(),
    nodes: {
      reader: node('readers.file'),
      decode: node('decoders.image', ['reader']),
      angle: node('random.uniform'),
      rotate: node('rotate', ['decode'], {
        connections: { angle: 'angle' },
        arguments: { angle: 3, unknown: [1] },
      }),
      flip: node('flip', ['rotate']),
    },
    outputs: ['flip', 'reader:1'],
    view: {
      nodes: { rotate: { x: 1, y: 2 } },
      notes: [],
      groups: [{ id: 'g', title: 'G', nodes: ['rotate', 'flip'] }],
    },
  };
}

describe('removeNodes', () => {
  it('keeps the wire through a removed node', () => {
    const result = edits.removeNodes(chain(), ['rotate'], () => true);
    expect(result.nodes['flip']?.inputs).toEqual(['decode']);
    expect(Object.keys(result.nodes)).toEqual(['reader', 'decode', 'angle', 'flip']);
    expect(result.view.nodes).toEqual({});
    expect(result.view.groups[0]?.nodes).toEqual(['flip']);
  });

  it('leaves nothing of a loop of removed nodes', () => {
    const document = chain();
    const looped = {
      ...document,
      nodes: { ...document.nodes, rotate: node('rotate', ['flip']), flip: node('flip', ['rotate']) },
    };
    expect(edits.removeNodes(looped, ['rotate', 'flip'], () => true).outputs).toEqual(['reader:1']);
    expect(edits.removeNodes(looped, ['flip'], () => true).outputs).toEqual(['rotate', 'reader:1']);
  });

  it('keeps the wire through several in a row', () => {
    const result = edits.removeNodes(chain(), ['decode', 'rotate'], () => true);
    expect(result.nodes['flip']?.inputs).toEqual(['reader']);
  });

  it('cuts the wire where it would not fit', () => {
    const result = edits.removeNodes(chain(), ['decode', 'rotate'], () => false);
    expect(result.nodes['flip']?.inputs).toEqual([]);
  });

  it('moves the output of the pipeline along the wire', () => {
    expect(edits.removeNodes(chain(), ['flip'], () => true).outputs).toEqual(['rotate', 'reader:1']);
    expect(edits.removeNodes(chain(), ['flip']).outputs).toEqual(['reader:1']);
  });

  it('gives an argument its constant back', () => {
    const result = edits.removeNodes(chain(), ['angle'], () => true);
    expect(result.nodes['rotate']?.connections).toEqual({});
    expect(result.nodes['rotate']?.arguments).toEqual({ angle: 3, unknown: [1] });
  });
});

describe('renameNode', () => {
  it('rewrites links, outputs, view and groups, and keeps the place', () => {
    const result = edits.renameNode(chain(), 'rotate', 'turn');
    expect(Object.keys(result.nodes)).toEqual(['reader', 'decode', 'angle', 'turn', 'flip']);
    expect(result.nodes['flip']?.inputs).toEqual(['turn']);
    expect(result.view.nodes).toEqual({ turn: { x: 1, y: 2 } });
    expect(result.view.groups[0]?.nodes).toEqual(['turn', 'flip']);
    expect(edits.renameNode(chain(), 'reader', 'files').outputs).toEqual(['flip', 'files:1']);
    expect(edits.renameNode(chain(), 'angle', 'a').nodes['rotate']?.connections).toEqual({ angle: 'a' });
  });

  it('refuses a name that is taken', () => {
    const start = chain();
    expect(edits.renameNode(start, 'rotate', 'flip')).toBe(start);
    expect(nameProblem(start, 'flip', 'rotate')).toContain('Another node');
    expect(nameProblem(start, 'a:1')).toContain('colon');
    expect(nameProblem(start, ' ')).not.toBeNull();
    expect(nameProblem(start, '__proto__')).not.toBeNull();
    expect(nameProblem(start, 'größe ✓')).toBeNull();
  });
});

describe('connect', () => {
  it('leaves a hole for an input that is not connected yet, and closes it again', () => {
    const two = edits.connect(chain(), { node: 'angle', output: 0 }, { node: 'angle', input: 2 });
    expect(two.nodes['angle']?.inputs).toEqual([null, null, 'angle']);
    expect(edits.disconnect(two, { node: 'angle', input: 2 }).nodes['angle']?.inputs).toEqual([]);
  });

  it('moves the output along when a fresh node continues the chain', () => {
    const added = edits.addNode(chain(), { op: 'hsv' }, { x: 0, y: 0 });
    const result = edits.connectAndExtend(
      added.document,
      { node: 'flip', output: 0 },
      { node: 'hsv', input: 0 },
    );
    expect(result.outputs).toEqual(['hsv', 'reader:1']);
    const branch = edits.connectAndExtend(chain(), { node: 'reader', output: 1 }, { node: 'flip', input: 0 });
    expect(branch.outputs).toEqual(['flip', 'reader:1']);
  });
});

describe('pasteNodes', () => {
  it('gives new names and keeps links among the copies and from what is there', () => {
    const start = chain();
    const { document, ids } = edits.pasteNodes(start, edits.copyNodes(start, ['rotate', 'flip']), {
      x: 10,
      y: 0,
    });
    expect(ids).toEqual(['rotate_2', 'flip_2']);
    expect(document.nodes['flip_2']?.inputs).toEqual(['rotate_2']);
    expect(document.nodes['rotate_2']?.inputs).toEqual(['decode']);
    expect(document.nodes['rotate_2']?.arguments).toEqual({ angle: 3, unknown: [1] });
  });

  it('cuts links to what is not there', () => {
    const clip = edits.parseClip(JSON.stringify(edits.copyNodes(chain(), ['rotate'])));
    const { document } = edits.pasteNodes(emptyDocument(), clip as edits.Clip, { x: 0, y: 0 });
    expect(document.nodes['rotate']?.inputs).toEqual([]);
    expect(document.nodes['rotate']?.connections).toEqual({});
  });

  it('takes no other text for nodes', () => {
    expect(edits.parseClip('hello')).toBeNull();
    expect(edits.parseClip('null')).toBeNull();
    expect(edits.parseClip('{"format":"other","nodes":{}}')).toBeNull();
  });
});

describe('replaceOperator', () => {
  it('keeps links and the arguments that the new operator has', () => {
    const operator = {
      name: 'warp_affine',
      family: 'geometry',
      title: '',
      summary: '',
      devices: ['cpu' as const],
      inputs: [{ name: 'data', kind: 'image' as const }],
      outputs: [{ name: 'output', kind: 'image' as const }],
      arguments: [{ name: 'angle', type: 'float' as const }],
    };
    const result = edits.replaceOperator(chain(), 'rotate', operator);
    expect(result.nodes['warp_affine']).toMatchObject({
      op: 'warp_affine',
      inputs: ['decode'],
      arguments: { angle: 3 },
      connections: {},
    });
    expect(result.nodes['flip']?.inputs).toEqual(['warp_affine']);
  });
});

describe('documents', () => {
  it('keeps what it does not know', () => {
    const text = JSON.stringify({ ...chain(), extra: { a: 1 }, view: { nodes: {}, camera: [1, 2] } });
    const document = readGraph(text);
    expect(document['extra']).toEqual({ a: 1 });
    expect(document.view['camera']).toEqual([1, 2]);
    const edited = edits.setArgument(document, 'rotate', 'angle', 5);
    expect(edited.nodes['rotate']?.arguments).toEqual({ angle: 5, unknown: [1] });
  });

  it('says what is wrong with a file', () => {
    expect(() => readGraph('{"nodes": {')).toThrow(/not JSON/);
    expect(() => readGraph('[]')).toThrow(DocumentError);
    expect(() => checkDocument({ format: 'dali-lab/graph', version: 99, nodes: {} })).toThrow(
      /newer version/,
    );
    expect(() => checkDocument({ format: 'other', nodes: {} })).toThrow(/other/);
  });
});

describe('names', () => {
  it('are what a person would write', () => {
    expect(edits.baseName('readers.file')).toBe('reader');
    expect(edits.baseName('decoders.image')).toBe('decode');
    expect(edits.baseName('random.uniform')).toBe('random_uniform');
    expect(edits.baseName('resize')).toBe('resize');
    expect(edits.baseName('transforms.rotation')).toBe('rotation');
  });
});
