import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { photographs, three } from '../../testing/graphs';
import { CANVAS, editorOf } from '../../testing/editor';
import { routeOf } from './edits';
import { appendOperator } from './actions';
import { COMMANDS, execute, isChecked, isEnabled } from './commands';
import type { Editor } from './editor';
import { editorCommands, JUPYTERLABS_OWN, SWITCHES } from '../../jupyterlab/src/words';
import type { GraphDocument } from './document';

/** Commands that change the graph; all others must leave it as it is. */
const EDITS = new Set([
  'subgraph',
  'open-subgraph',
  'cut',
  'paste',
  'duplicate',
  'delete',
  'bypass',
  'disable',
  'collapse',
  'collapse-all',
  'output',
  'group',
  'ungroup',
  'note',
  'arrange',
  'align-left',
  'align-centre',
  'align-right',
  'align-top',
  'align-middle',
  'align-bottom',
  'align-across',
  'align-down',
  'nudge-ArrowLeft',
  'nudge-ArrowRight',
  'nudge-ArrowUp',
  'nudge-ArrowDown',
]);

let editor: Editor;

beforeEach(async () => {
  vi.useFakeTimers();
  vi.stubGlobal('navigator', { clipboard: { writeText: () => Promise.resolve() } });
  editor = await editorOf(three());
  editor.canvas = CANVAS;
});

afterEach(() => {
  editor.dispose();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** Three nodes out of line, all selected, the first two in a group of their own. */
function prepare(): GraphDocument {
  const ids = Object.keys(editor.history.document.nodes).slice(0, 3);
  const nodes = { ...editor.history.document.view.nodes };
  ids.forEach(
    (id, index) => (nodes[id] = { ...nodes[id], x: index * 317 + index ** 2 * 20, y: index * index * 41 }),
  );
  editor.edit('scatter', (document) => ({
    ...document,
    view: { ...document.view, nodes, groups: [{ id: 'g', title: 'G', nodes: ids.slice(0, 2) }] },
  }));
  editor.select(ids);
  return editor.history.document;
}

describe('every command', () => {
  it.each(COMMANDS.map(({ id }) => id))('%s is undone as one step, or is no step', async (id) => {
    const before = prepare();
    const steps = editor.history.state.get().done;
    if (id === 'paste') execute(editor, 'copy');
    if (id === 'undo' || id === 'redo' || id === 'new') return;
    const done = execute(editor, id);
    await vi.advanceTimersByTimeAsync(0);
    const after = editor.history.document;
    if (!EDITS.has(id)) {
      expect(after).toEqual(before);
      return;
    }
    expect(done).toBe(true);
    expect(after).not.toEqual(before);
    expect(editor.history.state.get().done).toBe(steps + 1);
    expect(execute(editor, 'undo')).toBe(true);
    expect(JSON.stringify(editor.history.document)).toBe(JSON.stringify(before));
    expect(execute(editor, 'redo')).toBe(true);
    expect(editor.history.document).toEqual(after);
  });

  it('changes nothing in a graph that is read-only', async () => {
    const before = prepare();
    editor.session.patch({ readOnly: true });
    for (const id of EDITS) {
      editor.select(Object.keys(before.nodes).slice(0, 3));
      execute(editor, id);
    }
    await vi.advanceTimersByTimeAsync(0);
    expect(editor.history.document).toBe(before);
  });

  it('has words, and keys that nothing else has', () => {
    const keys = COMMANDS.flatMap((command) => command.keys ?? []);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { label } of COMMANDS) expect(label).toMatch(/^[A-Z]/);
  });

  it('is offered by JupyterLab, too', () => {
    const shown = COMMANDS.filter(({ id, hidden }) => !hidden && !JUPYTERLABS_OWN.includes(id));
    const offered = editorCommands({ __: (text: string) => text });
    expect(offered.map(([id]) => id).sort()).toEqual(shown.map(({ id }) => id).sort());
    expect(COMMANDS.flatMap(({ id, checked }) => (checked ? [id] : [])).sort()).toEqual([...SWITCHES].sort());
  });

  it('searches for the operator that the one selected node is continued with', () => {
    const [first, second] = Object.keys(editor.history.document.nodes) as [string, string];
    const after = (ids: string[]): string | undefined => {
      editor.select(ids);
      execute(editor, 'search');
      return editor.prompts.get().quick?.after;
    };
    expect([after([first]), after([first, second]), after([])]).toEqual([first, undefined, undefined]);
  });

  it('says whether it applies, and whether what it switches is on', () => {
    const [first] = Object.keys(editor.history.document.nodes) as [string];
    editor.select([]);
    expect([isEnabled(editor, 'bypass'), isEnabled(editor, 'undo'), isEnabled(editor, 'stop')]).toEqual([
      false,
      false,
      false,
    ]);
    editor.select([first]);
    expect([isEnabled(editor, 'bypass'), isChecked(editor, 'bypass')]).toEqual([true, false]);
    execute(editor, 'bypass');
    expect([isChecked(editor, 'bypass'), isEnabled(editor, 'undo')]).toEqual([true, true]);
    expect([isChecked(editor, 'toggle-tray'), isChecked(editor, 'undo')]).toEqual([true, undefined]);
    execute(editor, 'toggle-tray');
    expect(isChecked(editor, 'toggle-tray')).toBe(false);
  });
});

it('makes a sub-graph of several nodes by the key that opens it, and that closes it', () => {
  const nodes = (): string[] => Object.keys(editor.history.document.nodes);
  const [first, second, third] = nodes() as [string, string, string];
  editor.select([second, third]);
  execute(editor, 'open-subgraph');
  expect(nodes()).toEqual([first, 'augment']);
  execute(editor, 'open-subgraph');
  expect(nodes()).toHaveLength(3);
  execute(editor, 'open-subgraph');
  expect(nodes()).toEqual([first, 'augment']);
  // One node is none, as Ctrl+Shift+U makes one of it.
  editor.select([first]);
  execute(editor, 'open-subgraph');
  expect(nodes()).toEqual([first, 'augment']);
});

it('makes a sub-graph of both ends of a selected link', () => {
  const nodes = (): string[] => Object.keys(editor.history.document.nodes);
  const [first, second, third] = nodes() as [string, string, string];
  editor.select([], [`${third}:in:0`]);
  execute(editor, 'open-subgraph');
  expect(nodes()).toEqual([first, 'augment']);
  execute(editor, 'undo');
  expect(nodes()).toEqual([first, second, third]);
});

it('puts a point into each selected link, and says how without one', () => {
  const ids = Object.keys(editor.history.document.nodes);
  const route = (): unknown[] =>
    ids.map((id) => routeOf(editor.history.document, { node: id, input: 0 }).length);
  expect(COMMANDS.find(({ caption }) => caption?.includes('Reroute'))?.id).toBe('route-point');
  execute(editor, 'route-point');
  expect(route()).toEqual([0, 0, 0]);
  expect(editor.notices.get().map(({ message }) => message)).toEqual([
    expect.stringContaining('Select a link'),
  ]);
  const steps = editor.history.state.get().done;
  editor.select([], [`${ids[1]}:in:0`, `${ids[2]}:in:0`]);
  execute(editor, 'route-point');
  expect(route()).toEqual([0, 1, 1]);
  expect(editor.history.state.get().done).toBe(steps + 1);
  execute(editor, 'route-point');
  expect(route()).toEqual([0, 2, 2]);
});

it('says why an operator does not continue what is selected, and offers what would fit', async () => {
  editor.dispose();
  editor = await editorOf(photographs());
  editor.canvas = CANVAS;
  editor.select(['reader']);
  const id = appendOperator(editor, 'flip') ?? '';
  const inputs = (): unknown => editor.history.document.nodes[id]?.inputs;
  expect(inputs()).toEqual([]);
  const notice = editor.notices.get().at(-1);
  expect(notice?.message).toContain('encoded');
  notice?.actions[0]?.run();
  expect(inputs()).toEqual(['decode_2']);
  editor.select(['decode']);
  const next = appendOperator(editor, 'flip') ?? '';
  expect(editor.history.document.nodes[next]?.inputs).toEqual(['decode']);
});
