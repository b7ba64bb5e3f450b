/** Commands that step back and forth, and those about what is selected as a whole. */
import * as actions from '../actions';
import { copySelection, duplicateSelection, paste } from '../clipboard';
import type { Editor } from '../editor';
import { msg } from '../language';
import { any, selected, writable, type Command } from './command';

async function copyOut(editor: Editor, cut: boolean): Promise<void> {
  const text = copySelection(editor);
  if (text === null) return;
  // Without the permission to write to the system's clipboard, the editor's own still works.
  await globalThis.navigator.clipboard.writeText(text).catch(() => undefined);
  if (cut) actions.removeSelection(editor);
}

export const EDIT: readonly Command[] = [
  {
    id: 'undo',
    label: msg('Undo'),
    keys: ['Mod+Z'],
    section: 'Edit',
    enabled: (editor) => editor.history.state.get().done > 0,
    run: (editor) => void editor.history.undo(),
  },
  {
    id: 'redo',
    label: msg('Redo'),
    keys: ['Mod+Shift+Z', 'Mod+Y'],
    section: 'Edit',
    enabled: ({ history }) => history.state.get().done < history.state.get().steps.length,
    run: (editor) => void editor.history.redo(),
  },
  {
    id: 'history',
    label: msg('History'),
    caption: msg('All steps, to go back to any'),
    keys: ['Mod+H'],
    section: 'Edit',
    run: (editor) => editor.prompts.patch({ dialog: 'history' }),
  },
  {
    id: 'cut',
    label: msg('Cut'),
    keys: ['Mod+X'],
    section: 'Edit',
    enabled: selected,
    run: (editor) => void copyOut(editor, true),
  },
  {
    id: 'copy',
    label: msg('Copy'),
    keys: ['Mod+C'],
    section: 'Edit',
    enabled: selected,
    run: (editor) => void copyOut(editor, false),
  },
  {
    id: 'paste',
    label: msg('Paste'),
    section: 'Edit',
    enabled: writable,
    run: (editor) => void paste(editor, null, editor.canvas?.pointer().place),
  },
  {
    id: 'duplicate',
    label: msg('Duplicate'),
    keys: ['Mod+D'],
    section: 'Edit',
    enabled: selected,
    run: (editor) => void duplicateSelection(editor),
  },
  {
    id: 'delete',
    label: msg('Delete'),
    caption: msg('Delete; wires through stay where they can'),
    keys: ['Delete', 'Backspace'],
    section: 'Edit',
    enabled: any,
    run: actions.removeSelection,
  },
  {
    id: 'select-all',
    label: msg('Select all'),
    keys: ['Mod+A'],
    section: 'Edit',
    run: (editor) => editor.select(Object.keys(editor.history.document.nodes)),
  },
  {
    id: 'select-before',
    label: msg('Select all that feeds this'),
    keys: ['Shift+['],
    section: 'Edit',
    enabled: selected,
    run: (editor) => actions.selectConnected(editor, 'before'),
  },
  {
    id: 'select-after',
    label: msg('Select all that this feeds'),
    keys: ['Shift+]'],
    section: 'Edit',
    enabled: selected,
    run: (editor) => actions.selectConnected(editor, 'after'),
  },
  {
    id: 'unselect',
    label: msg('Select nothing'),
    keys: ['Escape'],
    section: 'Edit',
    hidden: true,
    run: (editor) => editor.select([]),
  },
];
