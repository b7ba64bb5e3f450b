/** Keys as JupyterLab's settings have them: those of the editor reach the canvas, and all others JupyterLab. */
import type { CommandRegistry } from '@lumino/commands';
import type { Editor } from '../../src/core/editor';
import type { Keymap } from '../../src/core/state';
import { isWriting } from '../../src/core/writing';
import { editorCommands } from './words';

/** Where the keys of the editor's commands are bound: JupyterLab leaves all key presses there to the editor. */
export const SELECTOR = '.dali-document .dali-lab-editor';

/** JupyterLab's commands that stand for commands of the editor. */
const INSTEAD: Readonly<Record<string, string>> = {
  'docmanager:save': 'save',
  'docmanager:save-as': 'save-as',
};

const MODIFIERS: readonly [written: string, names: readonly string[]][] = [
  ['Mod', ['Accel', 'Ctrl', 'Cmd']],
  ['Alt', ['Alt']],
  ['Shift', ['Shift']],
];

/** Keys as the editor writes them: `Ctrl Shift Z` is `Mod+Shift+Z`. */
function written(keystroke: string): string {
  const parts = keystroke.split(' ');
  const held = MODIFIERS.filter(([, names]) => names.some((name) => parts.includes(name)));
  return [...held.map(([modifier]) => modifier), parts.at(-1)].join('+');
}

/** The keys of the editor's commands that are in force at a place; without JupyterLab's shortcuts, the editor's own. */
export function keysAt(place: Element, bindings: CommandRegistry['keyBindings']): Keymap {
  const ids = [...editorCommands({ __: (text) => text }).map(([id]) => id), ...Object.values(INSTEAD)];
  const keymap = new Map<string, string[]>(ids.map((id) => [id, []]));
  // JupyterLab's menus show the last binding.
  for (const { command, keys, selector } of bindings) {
    const id = INSTEAD[command] ?? command.replace(/^dali-lab:/, '');
    if (id !== command && place.closest(selector)) keymap.get(id)?.unshift(keys.map(written).join(' '));
  }
  return [...keymap.values()].some((keys) => keys.length > 0) ? keymap : new Map();
}

/** Keeps an editor's keys in step with the settings; the returned function ends that. */
export function followKeys(commands: CommandRegistry, place: Element, editor: Editor): () => void {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const take = (): void => {
    timer = null;
    editor.view.patch({ keymap: keysAt(place, commands.keyBindings) });
  };
  // The settings remove all bindings and add them again, one by one.
  const changed = (): void => {
    timer ??= setTimeout(take);
  };
  commands.keyBindingChanged.connect(changed);
  take();
  return () => {
    commands.keyBindingChanged.disconnect(changed);
    if (timer !== null) clearTimeout(timer);
  };
}

/**
 * Passes a key press that the editor does not use on to JupyterLab, as one at `place`, around the editor. Fields keep
 * presses for themselves: there JupyterLab is asked in the capture phase, else in the bubbling phase.
 */
export function passOn(event: KeyboardEvent, place: Element): void {
  const { ctrlKey, metaKey, altKey, key } = event;
  const writes = !(ctrlKey || metaKey || altKey || /^F\d+$/.test(key));
  if (writes || event.defaultPrevented || event.target === place) return;
  if (isWriting(event) !== (event.eventPhase === Event.CAPTURING_PHASE)) return;
  if (place.dispatchEvent(new KeyboardEvent('keydown', copyOf(event)))) return;
  event.preventDefault();
  event.stopPropagation();
}

/** A press like this one; JupyterLab reads the old `keyCode`, too. */
function copyOf(event: KeyboardEvent): KeyboardEventInit {
  const { key, code, keyCode, ctrlKey, metaKey, shiftKey, altKey, repeat, location } = event;
  const modifiers = { ctrlKey, metaKey, shiftKey, altKey };
  return { key, code, keyCode, ...modifiers, repeat, location, bubbles: true, cancelable: true };
}
