import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { photographs } from '../../testing/graphs';
import { editorOf } from '../../testing/editor';
import * as edits from './edits';
import type { Editor } from './editor';
import { open } from './files';
import { goBack, resumeUndo } from './kept';

let editor: Editor;

beforeEach(async () => {
  vi.useFakeTimers();
  editor = await editorOf(photographs());
});

afterEach(() => {
  editor.dispose();
  vi.useRealTimers();
});

test('a graph without changes gives way without a word', async () => {
  await open(editor, { sample: 'photographs' });
  expect(editor.kept.get()).toEqual([]);
  expect(editor.notices.get()).toEqual([]);
});

test('an unsaved graph is kept when another one is opened, and comes back with its undo', async () => {
  editor.edit('Delete', (document) => edits.removeNodes(document, ['rotate']));
  const before = editor.history.document;
  await open(editor, { sample: 'photographs' });
  expect(editor.history.state.get().steps).toEqual([]);
  const [kept] = editor.kept.get();
  expect(kept?.document).toEqual(before);
  expect(editor.notices.get()[0]?.actions).toHaveLength(1);
  if (kept) await goBack(editor, kept);
  expect(editor.history.document).toEqual(before);
  expect(editor.kept.get()).toEqual([]);
  editor.history.undo();
  expect(Object.keys(editor.history.document.nodes)).toContain('rotate');
});

test('steps that led to another document are not taken up', () => {
  const other = { ...editor.history.document, outputs: [] };
  expect(resumeUndo(editor, other, { steps: [], done: 0 })).toBe(false);
});
