import { expect, test } from 'vitest';
import { eachWithEditor } from '../../testing/editor';
import type { StubSession } from '../../testing/session';
import * as edits from './edits';
import type { Editor } from './editor';
import { open, save } from './files';
import { goBack, resumeUndo } from './kept';

let editor: Editor;
let session: StubSession;

eachWithEditor((made, stub) => {
  editor = made;
  session = stub;
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

test('what is changed while a graph is being saved counts as not saved', async () => {
  const answer = session.answer.bind(session);
  session.answer = (request) =>
    request.method === 'save' ? { file: { path: '/a', name: 'a' }, title: 'a' } : answer(request);
  await save(editor, '/a');
  expect(editor.session.get().dirty).toBe(false);
  const saving = save(editor, '/a');
  editor.edit('Delete', (document) => edits.removeNodes(document, ['rotate']));
  await saving;
  expect(editor.session.get()).toMatchObject({ title: 'a', dirty: true });
});

test('going back twice at once keeps the other graph once', async () => {
  editor.edit('Delete', (document) => edits.removeNodes(document, ['rotate']));
  await open(editor, { sample: 'photographs' });
  const [kept] = editor.kept.get();
  if (kept) await Promise.all([goBack(editor, kept), goBack(editor, kept)]);
  expect(editor.kept.get().length).toBeLessThan(2);
});

test('steps that led to another document are not taken up', () => {
  const other = { ...editor.history.document, outputs: [] };
  expect(resumeUndo(editor, other, { steps: [], done: 0 })).toBe(false);
});
