import { describe, expect, it } from 'vitest';
import * as edits from './edits';
import { bareEdge, emptyDocument, formatEdge, parseEdge, type GraphDocument } from './document';
import { batchBytes, outputTransfer, transferOf, transfers } from './placement';
import { formatBytes } from './values';
import type { OutputPreview } from './protocol';

function graph(): GraphDocument {
  return {
    ...emptyDocument(),
    nodes: {
      reader: { op: 'readers.file', device: 'cpu' },
      decode: { op: 'decoders.image', device: 'mixed', inputs: ['reader'] },
      resize: { op: 'resize', device: 'gpu', inputs: ['decode'] },
      plain: { op: 'resize', device: 'cpu', inputs: ['reader'] },
      rotate: { op: 'rotate', device: 'gpu', inputs: ['plain'], connections: { angle: 'reader:1' } },
    },
    outputs: ['resize', 'reader:1@gpu', 'rotate@gpu'],
  };
}

const pictures: OutputPreview = {
  kind: 'image',
  dtype: 'UINT8',
  layout: 'HWC',
  batch: 8,
  shapes: [
    [100, 200, 3],
    [200, 200, 3],
  ],
  uniform: false,
  range: null,
  histogram: null,
  images: [],
};

describe('references with a device', () => {
  it('are read, written and kept', () => {
    expect(parseEdge('reader:1@gpu')).toEqual({ node: 'reader', output: 1, device: 'gpu' });
    expect(parseEdge('a@gpu:0')).toEqual({ node: 'a@gpu', output: 0 });
    for (const text of ['a', 'a:2', 'a@cpu', 'a:1@gpu', 'a@gpu:0', 'a@gpu:0@gpu'])
      expect(formatEdge(parseEdge(text))).toBe(text);
    expect(bareEdge('reader:1@gpu')).toBe('reader:1');
  });

  it('stay through renaming, removing, extending and toggling', () => {
    expect(edits.renameNode(graph(), 'rotate', 'turn').outputs).toEqual([
      'resize',
      'reader:1@gpu',
      'turn@gpu',
    ]);
    expect(edits.removeNodes(graph(), ['rotate'], () => true).outputs).toContain('plain@gpu');
    const added = edits.addNode(graph(), { op: 'flip' }, { x: 0, y: 0 });
    const joined = edits.connectAndExtend(
      added.document,
      { node: 'rotate', output: 0 },
      { node: added.id, input: 0 },
    );
    expect(joined.outputs).toContain(`${added.id}@gpu`);
    expect(edits.toggleOutput(graph(), 'rotate').outputs).toEqual(['resize', 'reader:1@gpu']);
  });
});

describe('placement', () => {
  it('knows which links go between memories', () => {
    const document = graph();
    expect(transferOf(document, { node: 'reader', output: 0 }, { node: 'decode', input: 0 })).toBeNull();
    expect(transferOf(document, { node: 'decode', output: 0 }, { node: 'resize', input: 0 })).toBeNull();
    expect(transferOf(document, { node: 'plain', output: 0 }, { node: 'rotate', input: 0 })).toBe('gpu');
    expect(
      transferOf(document, { node: 'reader', output: 1 }, { node: 'rotate', argument: 'angle' }),
    ).toBeNull();
    expect(document.outputs.map((each) => outputTransfer(document, each))).toEqual([null, 'gpu', null]);
  });

  it('adds up what goes there in a batch', () => {
    expect(batchBytes(pictures)).toBe(8 * 150 * 200 * 3);
    expect(batchBytes({ ...pictures, dtype: 'FLOAT16' })).toBe(2 * 8 * 150 * 200 * 3);
    expect(batchBytes({ ...pictures, dtype: 'INT64', shapes: [[]] })).toBe(64);
    const found = transfers(graph(), ({ node }) => (node === 'plain' ? pictures : undefined));
    expect(found).toEqual({ count: 2, bytes: 720000 });
    expect([999, 1500, 720000, 4.8e6, 1.2e9].map(formatBytes)).toEqual([
      '999 B',
      '1.5 kB',
      '720 kB',
      '4.8 MB',
      '1.2 GB',
    ]);
  });
});
