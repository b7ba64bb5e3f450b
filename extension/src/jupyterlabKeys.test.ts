import { describe, expect, it } from 'vitest';
import schema from '../jupyterlab/schema/plugin.json';
import { keysAt, SELECTOR } from '../jupyterlab/src/keys';
import { JUPYTERLABS_OWN } from '../jupyterlab/src/words';
import { COMMANDS } from './core/commands';

type Binding = Parameters<typeof keysAt>[1][number];

/** An element inside of what these selectors name. */
function place(...selectors: string[]): Element {
  return { closest: (selector: string) => (selectors.includes(selector) ? {} : null) } as Element;
}

function binding(command: string, selector: string, ...keys: string[]): Binding {
  return { command, selector, keys, args: {}, preventDefault: true };
}

const bindings = (): Binding[] =>
  schema['jupyter.lab.shortcuts'].map(({ command, keys, selector }) => binding(command, selector, ...keys));

describe("JupyterLab's settings", () => {
  it('begin with the keys of the editor, each once', () => {
    const keymap = keysAt(place(SELECTOR), bindings());
    const symbols: Record<string, string> = { '+': 'Shift+=', '?': 'Shift+/', 'Shift+?': 'Shift+/' };
    for (const { id, keys, hidden } of COMMANDS) {
      if (hidden || JUPYTERLABS_OWN.includes(id)) continue;
      expect(keymap.get(id), id).toEqual([...new Set(keys?.map((each) => symbols[each] ?? each) ?? [])]);
    }
    const all = schema['jupyter.lab.shortcuts'];
    expect(all.every(({ selector }) => selector === SELECTOR)).toBe(true);
    expect(new Set(all.map(({ keys }) => keys.join())).size).toBe(all.length);
  });

  it('offer every command in a menu, or by a key', () => {
    const offered = JSON.stringify([schema['jupyter.lab.menus'], schema['jupyter.lab.shortcuts']]);
    const known = COMMANDS.filter(({ id, hidden }) => !hidden && !JUPYTERLABS_OWN.includes(id));
    const without = known.map(({ id }) => id).filter((id) => !offered.includes(`"dali-lab:${id}"`));
    // The browser itself tells a page of a paste.
    expect(without).toEqual(['paste']);
  });

  it('are what counts: changed keys, keys taken away, keys bound elsewhere', () => {
    const keymap = keysAt(place(SELECTOR, 'body'), [
      binding('dali-lab:fit', SELECTOR, 'Ctrl Shift G'),
      binding('dali-lab:undo', 'body', 'Ctrl K', 'Ctrl U'),
      binding('dali-lab:redo', '.jp-Notebook', 'Ctrl R'),
      binding('docmanager:save', 'body', 'Ctrl S'),
      binding('notebook:run', SELECTOR, 'F'),
    ]);
    expect(keymap.get('fit')).toEqual(['Mod+Shift+G']);
    expect(keymap.get('undo')).toEqual(['Mod+K Mod+U']);
    expect(keymap.get('redo')).toEqual([]);
    expect(keymap.get('run')).toEqual([]);
    expect(keymap.get('save')).toEqual(['Mod+S']);
    expect(keymap.has('unselect')).toBe(false);
  });

  it('may be missing altogether', () => {
    expect(keysAt(place(SELECTOR), []).size).toBe(0);
  });
});
