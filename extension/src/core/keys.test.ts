import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { three } from '../../testing/graphs';
import { StubSession } from '../../testing/session';
import { COMMANDS } from './commands';
import { Editor } from './editor';
import { describeKeys, hintOf, KeyReader, type KeyLike } from './keys';

let editor: Editor;
let reader: KeyReader;
let now = 0;

beforeEach(() => {
  editor = new Editor(new StubSession(three()), { make: () => 'blob:', release: () => undefined });
  reader = new KeyReader(editor);
});

afterEach(() => editor.dispose());

/** A press as browsers tell of it: what it writes, which key it is, and the modifiers. */
function press(key: string, code: string, modifiers = '', after = 10): KeyLike {
  now += after;
  return {
    key,
    code,
    ctrlKey: modifiers.includes('Ctrl'),
    metaKey: modifiers.includes('Cmd'),
    shiftKey: modifiers.includes('Shift'),
    altKey: modifiers.includes('Alt'),
    timeStamp: now,
  };
}

function meant(...given: Parameters<typeof press>): string | undefined {
  const found = reader.read(press(...given));
  return typeof found === 'object' ? found.id : found;
}

describe('keys', () => {
  it('are found on a US keyboard', () => {
    expect(meant('z', 'KeyZ', 'Ctrl')).toBe('undo');
    expect(meant('Z', 'KeyZ', 'Ctrl Shift')).toBe('redo');
    expect(meant('z', 'KeyZ', 'Cmd')).toBe('undo');
    expect(meant('{', 'BracketLeft', 'Shift')).toBe('select-before');
    expect(meant('!', 'Digit1', 'Ctrl Shift')).toBe('toggle-palette');
    expect(meant('+', 'Equal', 'Shift')).toBe('zoom-in');
    expect(meant('?', 'Slash', 'Shift')).toBe('shortcuts');
    expect(meant(' ', 'Space', 'Ctrl')).toBe('search');
    expect(meant('ArrowLeft', 'ArrowLeft', 'Alt')).toBe('go-left');
    expect(meant('q', 'KeyQ')).toBeUndefined();
  });

  it('are found on other keyboards', () => {
    expect(meant('z', 'KeyY', 'Ctrl')).toBe('undo');
    expect(meant('?', 'Minus', 'Shift')).toBe('shortcuts');
    expect(meant('+', 'BracketRight')).toBe('zoom-in');
    expect(meant('"', 'Digit2', 'Ctrl Shift')).toBe('toggle-inspector');
    expect(meant('я', 'KeyZ', 'Ctrl')).toBe('undo');
    expect(meant('ß', 'Minus')).toBeUndefined();
  });

  it('of the host stand in the place of those of the table', () => {
    editor.view.patch({
      keymap: new Map([
        ['fit', ['G']],
        ['run', []],
        ['undo', ['Mod+K Mod+U']],
        ['zoom-in', ['Shift+=']],
      ]),
    });
    expect(meant('f', 'KeyF')).toBeUndefined();
    expect(meant('g', 'KeyG')).toBe('fit');
    expect(meant('Enter', 'Enter', 'Ctrl')).toBeUndefined();
    expect(meant('+', 'Equal', 'Shift')).toBe('zoom-in');
    expect([hintOf(editor, 'fit'), hintOf(editor, 'run'), hintOf(editor, 'copy')]).toEqual([
      'G',
      undefined,
      'Ctrl+C',
    ]);
  });

  it('may be several strokes, if they follow each other', () => {
    editor.view.patch({
      keymap: new Map([
        ['undo', ['Mod+K Mod+U']],
        ['commands', []],
      ]),
    });
    expect([meant('k', 'KeyK', 'Ctrl'), meant('Control', 'ControlLeft', 'Ctrl')]).toEqual([
      'more',
      undefined,
    ]);
    expect(meant('u', 'KeyU', 'Ctrl')).toBe('undo');
    expect([meant('k', 'KeyK', 'Ctrl'), meant('f', 'KeyF')]).toEqual(['more', 'fit']);
    expect([meant('k', 'KeyK', 'Ctrl'), meant('u', 'KeyU', 'Ctrl', 5000)]).toEqual(['more', undefined]);
    expect(hintOf(editor, 'undo')).toBe('Ctrl+K Ctrl+U');
  });

  it('are read by people', () => {
    expect(describeKeys('Mod+Shift+Z', false)).toBe('Ctrl+Shift+Z');
    expect(describeKeys('Mod+Shift+Z', true)).toBe('⌘⇧Z');
    expect(describeKeys('Mod++', false)).toBe('Ctrl++');
    for (const { keys } of COMMANDS)
      for (const each of keys ?? []) expect(describeKeys(each, false)).not.toBe('');
  });
});
