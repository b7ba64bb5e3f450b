import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apply, diff } from './changes';
import * as edits from './edits';
import type { GraphDocument } from './document';
import { emptyDocument, formatEdge, isArgument, links, parseEdge } from './document';
import { History } from './history';

/** A random edit: which command, and numbers that choose what it works on. */
type Edit = [kind: number, a: number, b: number, value: number];

const edit: fc.Arbitrary<Edit> = fc.tuple(fc.nat(15), fc.nat(), fc.nat(), fc.integer({ min: -50, max: 50 }));

function perform(document: GraphDocument, [kind, a, b, value]: Edit): GraphDocument {
  const ids = Object.keys(document.nodes);
  const pick = (number: number): string => ids[number % ids.length] ?? 'nobody';
  switch (kind) {
    case 0:
    case 1:
    case 2:
      return edits.addNode(
        document,
        { op: ['resize', 'rotate', 'random.uniform'][a % 3] as string },
        { x: a % 500, y: b % 500 },
      ).document;
    case 3:
      return edits.connect(document, { node: pick(a), output: b % 2 }, { node: pick(b), input: a % 3 });
    case 4:
      return edits.connect(document, { node: pick(a), output: 0 }, { node: pick(b), argument: 'angle' });
    case 5:
      return edits.removeNodes(document, [pick(a), pick(b)], a % 2 ? () => true : undefined);
    case 6:
      return edits.renameNode(document, pick(a), `name_${b % 20}`);
    case 7:
      return edits.setArgument(document, pick(a), 'angle', value);
    case 8:
      return edits.setArgument(document, pick(a), 'angle', undefined);
    case 9:
      return edits.toggleOutput(document, pick(a));
    case 10:
      return edits.moveNodes(document, ids.length > 0 ? { [pick(a)]: { x: value, y: b % 300 } } : {});
    case 11:
      return edits.pasteNodes(document, edits.copyNodes(document, [pick(a), pick(b)]), { x: 20, y: 20 })
        .document;
    case 12:
      return edits.addGroup(document, [pick(a), pick(b)], 'group');
    case 13:
      return edits.addNote(document, { x: a % 100, y: b % 100 }, `note ${value}`).document;
    case 14:
      return edits.setPipeline(document, 'seed', value);
    default:
      return edits.setView(document, ids.length > 0 ? [pick(a)] : [], {
        [b % 2 === 0 ? 'bypass' : 'disabled']: a % 2 === 0,
      });
  }
}

const LOOP: Edit[] = [
  [0, 0, 0, 0],
  [3, 0, 0, 0],
  [9, 0, 0, 0],
  [5, 1, 0, 0],
];

describe('History', () => {
  it('undoes any sequence of edits to the start, and redoes it to the end', () => {
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 40 }), (edits) => {
        const start = emptyDocument();
        const history = new History(start);
        const states = [JSON.stringify(start)];
        for (const each of edits) {
          if (history.edit('edit', (document) => perform(document, each)))
            states.push(JSON.stringify(history.document));
        }
        for (let index = states.length - 1; index > 0; index--) {
          expect(history.undo()).not.toBeNull();
          expect(history.document).toEqual(JSON.parse(states[index - 1] as string));
          expect(Object.keys(history.document.nodes)).toEqual(
            Object.keys((JSON.parse(states[index - 1] as string) as GraphDocument).nodes),
          );
        }
        expect(history.undo()).toBeNull();
        for (let index = 1; index < states.length; index++) {
          history.redo();
          expect(history.document).toEqual(JSON.parse(states[index] as string));
        }
        expect(history.redo()).toBeNull();
      }),
      { numRuns: 2000 },
    );
  });

  it('has the same changes for the session as for itself', () => {
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 30 }), (edits) => {
        let ours = emptyDocument();
        let theirs = ours;
        for (const each of edits) {
          const next = perform(ours, each);
          theirs = apply(theirs, JSON.parse(JSON.stringify(diff(ours, next))) as ReturnType<typeof diff>);
          ours = next;
        }
        expect(theirs).toEqual(ours);
        expect(Object.keys(theirs.nodes)).toEqual(Object.keys(ours.nodes));
      }),
      { numRuns: 500 },
    );
  });

  it('leaves no reference to a node that is gone', () => {
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 40 }), (edits) => {
        const document = edits.reduce(perform, emptyDocument());
        for (const { source } of links(document)) expect(document.nodes).toHaveProperty([source.node]);
        for (const output of document.outputs)
          expect(document.nodes).toHaveProperty([parseEdge(output).node]);
        for (const group of document.view.groups)
          for (const id of group.nodes) expect(document.nodes).toHaveProperty([id]);
        for (const { target } of links(document)) {
          const node = document.nodes[target.node];
          const reference = isArgument(target)
            ? node?.connections?.[target.argument]
            : node?.inputs?.[target.input];
          expect(formatEdge(parseEdge(reference ?? ''))).toBe(reference);
        }
      }),
      // A node that feeds itself and is an output, deleted.
      { numRuns: 500, examples: [[LOOP]] },
    );
  });

  it('makes one step of a gesture', () => {
    const history = new History(edits.addNode(emptyDocument(), { op: 'rotate' }, { x: 0, y: 0 }).document);
    const start = history.document;
    for (const angle of [1, 2, 3]) {
      history.edit('angle', (document) => edits.setArgument(document, 'rotate', 'angle', angle), 'drag');
    }
    history.endGesture();
    history.edit('angle', (document) => edits.setArgument(document, 'rotate', 'angle', 9), 'drag');
    expect(history.state.get().steps).toHaveLength(2);
    history.undo();
    expect(history.document.nodes['rotate']?.arguments).toEqual({ angle: 3 });
    history.undo();
    expect(history.document).toEqual(start);
  });

  it('makes no step of a gesture that ends where it began', () => {
    const history = new History(edits.addNode(emptyDocument(), { op: 'rotate' }, { x: 0, y: 0 }).document);
    history.edit('angle', (document) => edits.setArgument(document, 'rotate', 'angle', 5), 'drag');
    history.edit('angle', (document) => edits.setArgument(document, 'rotate', 'angle', undefined), 'drag');
    expect(history.state.get()).toEqual({ steps: [], done: 0 });
  });

  it('does not take back what another tab did', () => {
    const history = new History(emptyDocument());
    history.edit('add', (document) => edits.addNode(document, { op: 'rotate' }, { x: 0, y: 0 }).document);
    history.applyRemote({ nodes: { flip: { op: 'flip' } } });
    history.undo();
    expect(Object.keys(history.document.nodes)).toEqual(['flip']);
  });

  it('goes to any step', () => {
    const history = new History(emptyDocument());
    for (const seed of [1, 2, 3, 4])
      history.edit('seed', (document) => edits.setPipeline(document, 'seed', seed));
    expect(history.documentAt(2).pipeline['seed']).toBe(2);
    expect(history.documentAt(0)).toEqual(emptyDocument());
    history.goTo(1);
    expect(history.documentAt(3).pipeline['seed']).toBe(3);
    expect(history.document.pipeline['seed']).toBe(1);
    history.goTo(4);
    expect(history.document.pipeline['seed']).toBe(4);
  });
});
