import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CANVAS, editorOf } from '../../testing/editor';
import { long, photographs, three, trouble } from '../../testing/graphs';
import {
  addOperator,
  appendOperator,
  applyRemedy,
  dropOnLink,
  fitsLink,
  openNode,
  setDevice,
} from './actions';
import { cardsOf, makeWay, wayOut } from './apart';
import { paste } from './clipboard';
import { execute } from './commands';
import { links, type GraphDocument, type Group, type Note } from './document';
import * as edits from './edits';
import type { Editor } from './editor';
import { groupBox, overlap, type Box, type Size } from './layout';
import { makeRandom } from './random';

/** A size for each card that stays its own, as cards of different operators have. */
function sizeOf(id: string): Size {
  let number = 7;
  for (const letter of id) number = (number * 31 + letter.charCodeAt(0)) % 9973;
  return { width: 212, height: 90 + (number % 8) * 40 };
}

function covered(document: GraphDocument): [string, string][] {
  const cards = [...cardsOf(document, sizeOf)];
  return cards.flatMap(([a, box], index) =>
    cards.slice(index + 1).flatMap(([b, other]): [string, string][] => (overlap(box, other) ? [[a, b]] : [])),
  );
}

let editor: Editor;

async function start(document: GraphDocument): Promise<void> {
  editor = await editorOf(document);
  editor.canvas = {
    ...CANVAS,
    room: () => ({ width: 936, height: 532 }),
    centre: () => ({ x: 300, y: 200 }),
    sizeOf,
  };
  // As after opening, when the sizes of cards are known.
  execute(editor, 'arrange');
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('navigator', { clipboard: { writeText: () => Promise.resolve() } });
});

afterEach(() => {
  editor.dispose();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const COMMANDS = [
  ...['paste', 'duplicate', 'delete', 'collapse', 'group', 'ungroup', 'arrange', 'undo', 'redo', 'bypass'],
  ...['left', 'centre', 'right', 'top', 'middle', 'bottom', 'across', 'down'].map((how) => `align-${how}`),
  ...['Left', 'Right', 'Up', 'Down'].map((key) => `nudge-Arrow${key}`),
];
const OPERATORS = ['rotate', 'flip', 'readers.file', 'gaussian_blur', 'random.uniform', 'cat'];

type Gesture =
  | { do: 'command'; id: string; on: number[] }
  | { do: 'add' | 'append'; op: string; at: edits.Point; on: number[] }
  | { do: 'insert' | 'drop'; op: string; at: edits.Point; on: number[] }
  | { do: 'drag'; at: edits.Point; on: number[] }
  | { do: 'random' | 'fold' | 'remedy'; on: number[] };

const point = fc.record({ x: fc.integer({ min: -600, max: 2000 }), y: fc.integer({ min: -400, max: 1200 }) });
const on = fc.array(fc.nat(30), { minLength: 1, maxLength: 4 });
const gesture: fc.Arbitrary<Gesture> = fc.oneof(
  fc.record({ do: fc.constant('command' as const), id: fc.constantFrom(...COMMANDS), on }),
  fc.record({
    do: fc.constantFrom('add' as const, 'append' as const, 'insert' as const, 'drop' as const),
    op: fc.constantFrom(...OPERATORS),
    at: point,
    on,
  }),
  fc.record({ do: fc.constant('drag' as const), at: point, on }),
  fc.record({ do: fc.constantFrom('random' as const, 'fold' as const, 'remedy' as const), on }),
);

function perform(each: Gesture): void {
  const { document } = editor.history;
  const names = Object.keys(document.nodes);
  const chosen = [...new Set(each.on.map((index) => names[index % Math.max(1, names.length)] ?? ''))];
  const [first = ''] = chosen.filter((id) => document.nodes[id]);
  const all = links(document);
  const link = all[(each.on[0] ?? 0) % Math.max(1, all.length)];
  if (first === '') return;
  editor.select(chosen);
  switch (each.do) {
    case 'command':
      if (each.id === 'paste') execute(editor, 'copy');
      execute(editor, each.id);
      return;
    case 'add':
      addOperator(editor, each.op, { at: each.at });
      return;
    case 'append':
      editor.select([first]);
      appendOperator(editor, each.op);
      return;
    case 'insert':
      if (link && fitsLink(editor, each.op, link)) addOperator(editor, each.op, { at: each.at, into: link });
      return;
    case 'drop':
      if (link) dropOnLink(editor, first, link, { [first]: each.at });
      return;
    case 'drag': {
      const places = Object.fromEntries(
        chosen.map((id, index) => [id, { x: each.at.x + index * 40, y: each.at.y + index * 24 }]),
      );
      editor.edit('Move', (start) => edits.moveNodes(start, places));
      return;
    }
    case 'random':
      makeRandom(editor, first, { name: 'angle', type: 'float', tensor: true }, 'uniform');
      return;
    case 'fold': {
      const group = document.view.groups[0];
      if (group)
        editor.edit('Fold', (start) => edits.setGroup(start, group.id, { collapsed: !group.collapsed }));
      return;
    }
    case 'remedy':
      if (link) {
        const remedy = { kind: 'insert' as const, op: 'flip', arguments: {}, title: 'Insert' };
        applyRemedy(editor, remedy, link.source, link.target);
      }
  }
}

describe('cards on the canvas', () => {
  it.each([photographs, three, trouble, long])('lie apart after every command: $name', async (make) => {
    await start(make());
    expect(covered(editor.history.document)).toEqual([]);
    const few = make === long ? { numRuns: 4, size: 'small' as const } : { numRuns: 60 };
    const opened = editor.history.document;
    fc.assert(
      fc.property(fc.array(gesture, { maxLength: 12 }), (gestures) => {
        editor.history.reset(opened);
        for (const each of gestures) {
          perform(each);
          expect(covered(editor.history.document), JSON.stringify(each)).toEqual([]);
        }
      }),
      few,
    );
  });

  it('keep their places to each other where several are moved', async () => {
    await start(three());
    execute(editor, 'select-all');
    const before = cardsOf(editor.history.document, sizeOf);
    execute(editor, 'copy');
    paste(editor, null, { x: 10, y: 10 });
    const after = cardsOf(editor.history.document, sizeOf);
    const [a, b] = [before.get('reader') as Box, before.get('decode') as Box];
    const [c, d] = [after.get('reader_2') as Box, after.get('decode_2') as Box];
    expect([d.x - c.x, d.y - c.y]).toEqual([b.x - a.x, b.y - a.y]);
  });

  it('stay where they are dropped where there is room', async () => {
    await start(three());
    addOperator(editor, 'flip', { at: { x: 3001, y: 17 } });
    expect(editor.history.document.view.nodes['flip']).toEqual({ x: 3001, y: 17 });
    setDevice(editor, ['flip'], 'gpu');
    expect(editor.history.document.view.nodes['flip']).toEqual({ x: 3001, y: 17 });
  });

  it('leave room for the title of a sub-graph that opens', async () => {
    await start(photographs());
    editor.select(['rotate', 'brightness_contrast']);
    execute(editor, 'subgraph');
    const beside = { x: 240, y: 5030 - sizeOf('normalize').height };
    editor.edit('move', (document) =>
      edits.moveNodes(document, { augment: { x: 0, y: 5000 }, normalize: beside }),
    );
    openNode(editor, 'augment');
    const document = editor.history.document;
    const [group] = document.view.groups;
    expect(document.view.nodes['normalize']).toEqual(beside);
    const frame = groupBox(document, group as Group, sizeOf);
    const others = [...cardsOf(document, sizeOf)].filter(([id]) => !group?.nodes.includes(id));
    expect(others.filter(([, box]) => overlap(box, frame))).toEqual([]);
  });

  it('are not covered by a new note, nor by one that grows with its text', async () => {
    await start(photographs());
    const covers = (): boolean => {
      const { x, y, w, h } = editor.document.get().view.notes[0] as Note;
      const cards = [...cardsOf(editor.document.get(), sizeOf).values()];
      return cards.some((card) => overlap(card, { x, y, width: w, height: h }));
    };
    const change = (changed: Partial<Note>): boolean =>
      editor.edit('Write note', (document) => edits.setNote(document, 'note', changed));
    const card = [...cardsOf(editor.document.get(), sizeOf).values()][0] as Box;
    const place = { x: card.x + 8, y: card.y + 8 };
    editor.canvas = {
      ...(editor.canvas as NonNullable<Editor['canvas']>),
      pointer: () => ({ place, at: place, over: true }),
    };
    execute(editor, 'note');
    expect(covers()).toBe(false);
    change({ text: 'long', h: 900, w: 900 });
    expect(covers()).toBe(false);
    // A note that is placed behind nodes on purpose stays there.
    change({ x: card.x, y: card.y });
    change({ text: 'longer', h: 920 });
    expect(covers()).toBe(true);
  });

  it('give way to one that has grown', () => {
    const document = edits.moveNodes(three(), {
      reader: { x: 0, y: 0 },
      decode: { x: 0, y: 200 },
      blur: { x: 400, y: 0 },
    });
    const tall = (id: string): Size => ({ width: 212, height: id === 'reader' ? 320 : 100 });
    const after = makeWay(document, tall);
    expect(after.view.nodes['reader']).toEqual({ x: 0, y: 0 });
    expect(after.view.nodes['blur']).toEqual({ x: 400, y: 0 });
    expect(after.view.nodes['decode']?.y).toBeGreaterThanOrEqual(320);
    expect(makeWay(after, tall)).toBe(after);
  });

  it('find a way out of a crowd', () => {
    const crowd: Box[] = Array.from({ length: 100 }, (_, index) => ({
      x: (index % 10) * 220,
      y: Math.floor(index / 10) * 130,
      width: 212,
      height: 120,
    }));
    const box = { x: 1000, y: 600, width: 212, height: 300 };
    const { x, y } = wayOut([box], crowd);
    expect(crowd.some((other) => overlap({ ...box, x: box.x + x, y: box.y + y }, other))).toBe(false);
  });
});
