import { expect, it } from 'vitest';
import { eachWithEditor } from '../../testing/editor';
import type { StubSession } from '../../testing/session';
import * as actions from './actions';
import * as edits from './edits';
import type { Editor } from './editor';
import { outdatedProbe, startProbe } from './probes';

let session: StubSession;
let editor: Editor;

eachWithEditor((made, stub) => {
  editor = made;
  session = stub;
});

const folder = (root: string): void => {
  editor.edit('folder', (document) => edits.setArgument(document, 'reader', 'file_root', root));
};
const done = (status: string): void =>
  session.event('probe.done', { run: session.last('probe')['run'], status, curves: [], difference: 0 });

it('tells the outcome of another folder from that of the graph as it is', async () => {
  folder('cats');
  await startProbe(editor);
  done('done');
  expect(outdatedProbe(editor)).toBeNull();
  folder('dogs');
  expect(outdatedProbe(editor)).toMatchObject({ folder: 'cats' });
  await startProbe(editor);
  done('cancelled');
  expect(outdatedProbe(editor)).toMatchObject({ folder: 'cats' });
  editor.history.undo();
  expect(outdatedProbe(editor)).toBeNull();
  // Where nodes lie is no part of it.
  editor.edit('move', (document) => edits.moveNodes(document, { reader: { x: 999, y: 9 } }));
  expect(outdatedProbe(editor)).toBeNull();
});

it('names in the history what was switched off, and all arguments that were set at once', () => {
  const last = (): string | undefined => editor.history.state.get().steps.at(-1)?.label;
  editor.select(['reader']);
  actions.toggleView(editor, 'disabled');
  expect(last()).toBe('Disable reader');
  actions.toggleView(editor, 'disabled');
  expect(last()).toBe('Enable reader');
  actions.setArguments(editor, 'rotate', { angle: 3, fill_value: 7 });
  expect(last()).toBe('angle, fill_value of rotate');
});
