/** Commands that undo and redo, and commands on the whole selection. */
import * as actions from '../actions';
import { copySelection, duplicateSelection, paste } from '../clipboard';
import type { Editor } from '../editor';
import { msg } from '../language';
import { any, selected, writable, inSection, opens } from './command';

async function copyOut(editor: Editor, cut: boolean): Promise<void> {
  const text = copySelection(editor);
  if (text === null) return;
  // Without the permission to write to the system's clipboard, the editor's own still works.
  await globalThis.navigator.clipboard.writeText(text).catch(() => undefined);
  if (cut) actions.removeSelection(editor);
}

export const EDIT = inSection('Edit', [
  {
    id: 'undo',
    label: msg('Undo'),
    keys: ['Mod+Z'],
    enabled: (editor) => editor.history.state.get().done > 0,
    run: (editor) => void editor.history.undo(),
  },
  {
    id: 'redo',
    label: msg('Redo'),
    keys: ['Mod+Shift+Z', 'Mod+Y'],
    enabled: ({ history }) => history.state.get().done < history.state.get().steps.length,
    run: (editor) => void editor.history.redo(),
  },
  {
    id: 'history',
    label: msg('History'),
    caption: msg('All steps, to go back to any'),
    keys: ['Mod+H'],
    run: opens('history'),
  },
  {
    id: 'cut',
    label: msg('Cut'),
    keys: ['Mod+X'],
    enabled: selected,
    run: (editor) => void copyOut(editor, true),
  },
  {
    id: 'copy',
    label: msg('Copy'),
    keys: ['Mod+C'],
    enabled: selected,
    run: (editor) => void copyOut(editor, false),
  },
  {
    id: 'paste',
    label: msg('Paste'),
    enabled: writable,
    run: (editor) => void paste(editor, null, editor.canvas?.pointer().place),
  },
  {
    id: 'duplicate',
    label: msg('Duplicate'),
    keys: ['Mod+D'],
    enabled: selected,
    run: (editor) => void duplicateSelection(editor),
  },
  {
    id: 'delete',
    label: msg('Delete'),
    caption: msg('Delete; wires through stay where they can'),
    keys: ['Delete', 'Backspace'],
    enabled: any,
    run: actions.removeSelection,
  },
  {
    id: 'select-all',
    label: msg('Select all'),
    keys: ['Mod+A'],
    run: (editor) => editor.select(Object.keys(editor.history.document.nodes)),
  },
  {
    id: 'select-before',
    label: msg('Select all nodes that feed this one'),
    keys: ['Shift+['],
    enabled: selected,
    run: (editor) => actions.selectConnected(editor, 'before'),
  },
  {
    id: 'select-after',
    label: msg('Select all nodes that this one feeds'),
    keys: ['Shift+]'],
    enabled: selected,
    run: (editor) => actions.selectConnected(editor, 'after'),
  },
  {
    id: 'unselect',
    label: msg('Select nothing'),
    keys: ['Escape'],
    hidden: true,
    run: (editor) => editor.select([]),
  },
]);
