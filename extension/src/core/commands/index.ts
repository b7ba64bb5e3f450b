/** Every command of the editor: toolbar, menus, command search, shortcut list and hosts draw from this table. */
import type { Editor } from '../editor';
import type { Command } from './command';
import { EDIT } from './edit';
import { FILE } from './file';
import { GRAPH } from './graph';
import { RUN } from './run';
import { VIEW } from './view';

export { SECTIONS, type Command } from './command';

export const COMMANDS: readonly Command[] = [...FILE, ...EDIT, ...GRAPH, ...VIEW, ...RUN];

const BY_ID = new Map(COMMANDS.map((command) => [command.id, command]));

export function command(id: string): Command | undefined {
  return BY_ID.get(id);
}

/** Whether a command applies now. */
export function isEnabled(editor: Editor, id: string): boolean {
  const found = command(id);
  return found !== undefined && found.enabled?.(editor) !== false;
}

/** Whether the option that a command switches is on; undefined for one that switches nothing. */
export function isChecked(editor: Editor, id: string): boolean | undefined {
  return command(id)?.checked?.(editor);
}

/** Does a command; false where it does not apply. */
export function execute(editor: Editor, id: string): boolean {
  if (!isEnabled(editor, id)) return false;
  command(id)?.run(editor);
  return true;
}
