import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as edits from './edits';
import { DocumentError } from './document';
import { changedPart, readGraph, writeGraph } from './text';

const BY_HAND = `{
    "format": "dali-lab/graph", "version": 1,
    "pipeline": {"batch_size": 8, "seed": 42},
    "nodes": {
        "reader": {"op": "readers.file",   "arguments": {"file_root": "caf\\u00e9"}},
        "resize": {
            "op": "resize",
            "inputs": ["reader"],
            "arguments": {"size": [256.0, 1e3], "mode": "stretch"}
        },
        "rotate": {"op": "rotate", "inputs": ["resize"], "arguments": {"angle": 3.0, "fill_value": 256.0}}
    },
    "outputs": ["rotate"],
    "view": {"nodes": {"reader": {"x": 0, "y": 0}}, "notes": [], "groups": []}
}
`;

describe('the text of a file', () => {
  it('stays as it is when nothing has changed, however it is written', () => {
    expect(writeGraph(readGraph(BY_HAND), BY_HAND)).toBe(BY_HAND);
  });

  it('changes in the line of the argument that changed, and nowhere else', () => {
    const after = writeGraph(edits.setArgument(readGraph(BY_HAND), 'rotate', 'angle', 7), BY_HAND);
    const lines = after.split('\n');
    const changed = BY_HAND.split('\n').filter((line) => !lines.includes(line));
    expect(changed).toHaveLength(2);
    expect(after).toContain('"angle": 7, "fill_value": 256.0');
    expect(after).toContain('"op": "readers.file",   "arguments": {"file_root": "caf\\u00e9"}');
    expect(after).toContain('"size": [256.0, 1e3]');
  });

  it('keeps untouched nodes when one is added, removed, or moved', () => {
    const start = readGraph(BY_HAND);
    const resize = BY_HAND.slice(BY_HAND.indexOf('"resize": {'), BY_HAND.indexOf('        "rotate": {'));
    for (const next of [
      edits.addNode(start, { op: 'flip' }, { x: 1, y: 2 }).document,
      edits.removeNodes(start, ['rotate']),
      edits.moveNodes(start, { rotate: { x: 5, y: 6 } }),
    ]) {
      const after = writeGraph(next, BY_HAND);
      expect(after).toContain(resize.trimEnd().replace(/,$/, ''));
      expect(readGraph(after)).toEqual(next);
    }
  });

  it('reads back as the graph that was written, whatever was there before', () => {
    const key = fc.string({ minLength: 1 }).filter((text) => !(text in Object.prototype));
    const graph = fc.dictionary(
      key,
      fc.record({
        op: fc.string(),
        arguments: fc.dictionary(key, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
      }),
    );
    fc.assert(
      fc.property(graph, graph, fc.nat(4), (left, right, spaces) => {
        const wrap = (nodes: object): string =>
          JSON.stringify({ nodes, view: {}, outputs: [] }, null, spaces);
        const next = readGraph(wrap({ ...left, ...right }));
        expect(JSON.parse(writeGraph(next, wrap(left)))).toEqual(JSON.parse(JSON.stringify(next)));
      }),
      { numRuns: 200 },
    );
  });

  it('is new for an empty file, and refused where there is no graph', () => {
    expect(readGraph(' \n').nodes).toEqual({});
    for (const text of ['{"nodes": ', '[]', '{"nodes": {"a": 3}}', '{"nodes": {}, "version": 99}', '{}'])
      expect(() => readGraph(text)).toThrow(DocumentError);
  });
});

describe('the part that changed', () => {
  it('makes one text of the other', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (head, tail, one, two) => {
        const [before, after] = [head + one + tail, head + two + tail];
        const { start, end, text } = changedPart(before, after);
        expect(before.slice(0, start) + text + before.slice(end)).toBe(after);
        expect(end - start).toBeLessThanOrEqual(one.length);
      }),
    );
  });
});
