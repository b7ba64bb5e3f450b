/** The type of a command: its label, its keys, when it applies and its action. */
import type { Editor } from '../editor';
import { msg } from '../language';
import type { DialogName } from '../state';

/** Headings in the list of shortcuts. */
export type Section = 'File' | 'Edit' | 'Graph' | 'View' | 'Run';

export const SECTIONS: readonly Section[] = [msg('File'), msg('Edit'), msg('Graph'), msg('View'), msg('Run')];

export interface Command {
  id: string;
  label: string;
  caption?: string;
  /** Like `Mod+Shift+Z`; `Mod` is Ctrl, on a Mac Cmd. */
  keys?: string[];
  section: Section;
  /** Not in the search of commands. */
  hidden?: boolean;
  /** Done in a field that is being written in, too, if its keys write nothing. */
  whileWriting?: boolean;
  enabled?: (editor: Editor) => boolean;
  /** Whether the option that it switches is on. */
  checked?: (editor: Editor) => boolean;
  run: (editor: Editor) => void;
}

export const selected = (editor: Editor): boolean => editor.selection.get().nodes.size > 0;
export const several = (editor: Editor): boolean => editor.selection.get().nodes.size > 1;
export const any = (editor: Editor): boolean => {
  const { nodes, links, item } = editor.selection.get();
  return nodes.size + links.size > 0 || item !== null;
};
/** There are nodes. */
export const filled = (editor: { history: Pick<Editor['history'], 'document'> }): boolean =>
  Object.keys(editor.history.document.nodes).length > 0;
export const opens =
  (dialog: DialogName) =>
  (editor: Editor): void =>
    editor.prompts.patch({ dialog });
export const writable = (editor: Editor): boolean => !editor.readOnly;

/** Commands under one heading. */
export function inSection(section: Section, commands: readonly Omit<Command, 'section'>[]): Command[] {
  return commands.map((command) => ({ ...command, section }));
}
