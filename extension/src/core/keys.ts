/** Keys: which command a press means, and how keys are written for people. */
import { COMMANDS, command, type Command } from './commands';
import type { Editor } from './editor';
import { t } from './language';

export interface KeyLike {
  key: string;
  /** The physical key, independent of the character that it writes. */
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
  timeStamp: number;
}

/** Longest time between two strokes of a key sequence. */
const SEQUENCE_MS = 1000;
const MODIFIERS = new Set(['Control', 'Shift', 'Alt', 'AltGraph', 'Meta', 'CapsLock']);
/** The keys of a US keyboard by what they write with Shift: there keys have their names from. */
const UPPER = '~!@#$%^&*()_+{}|:"<>?';
const LOWER = "`1234567890-=[]\\;',./";
const BELOW = new Map(Array.from(UPPER, (upper, at) => [upper, LOWER[at]]));

/** Names of a key press: by its character, and by the key that has it on a US keyboard. */
function writings({ key, code, ctrlKey, metaKey, shiftKey, altKey }: KeyLike): string[] {
  const mod = ctrlKey || metaKey ? 'Mod+' : '';
  const alt = altKey ? 'Alt+' : '';
  const shift = shiftKey ? 'Shift+' : '';
  const name = key === ' ' ? 'Space' : key.length === 1 ? key.toUpperCase() : key;
  const found = [`${mod}${alt}${shift}${name}`];
  if (key.length !== 1 || /[a-z0-9]/i.test(key)) return found;
  // Keyboards differ in the symbols that need Shift.
  if (!altKey) found.push(`${mod}${key}`);
  const below = shiftKey && code.startsWith('Digit') ? code.slice(5) : BELOW.get(key);
  if (below !== undefined) found.push(`${mod}${alt}Shift+${below}`);
  // Where letters are others, the place of the key says which.
  if (code.startsWith('Key')) found.push(`${mod}${alt}${shift}${code.slice(3)}`);
  return found;
}

/** Reads presses as commands; the keys of a command may be several strokes, with a space between. */
export class KeyReader {
  private strokes: string[][] = [];
  private last = -Infinity;

  constructor(private editor: Editor) {}

  /** The command whose keys a press completes; `more` where further strokes are to come; else undefined. */
  read(press: KeyLike): Command | 'more' | undefined {
    if (MODIFIERS.has(press.key)) return undefined;
    if (press.timeStamp - this.last > SEQUENCE_MS) this.strokes = [];
    this.last = press.timeStamp;
    const stroke = writings(press);
    this.strokes.push(stroke);
    let found = this.match();
    if (found === undefined && this.strokes.length > 1) {
      this.strokes = [stroke];
      found = this.match();
    }
    if (found !== 'more') this.strokes = [];
    return found;
  }

  private match(): Command | 'more' | undefined {
    const { strokes } = this;
    let more = false;
    for (const each of COMMANDS)
      for (const keys of keysOf(this.editor, each.id)) {
        const wanted = keys.split(' ');
        if (!strokes.every((writing, at) => writing.includes(wanted[at] ?? ''))) continue;
        if (wanted.length === strokes.length) return each;
        more = true;
      }
    return more ? 'more' : undefined;
  }
}

/** The keys of a command that are in force: the host's where it has them, else those of the table. */
export function keysOf(editor: Editor, id: string): readonly string[] {
  return editor.view.get().keymap.get(id) ?? command(id)?.keys ?? [];
}

/** The first keys of a command as people read them. */
export function hintOf(editor: Editor, id: string): string | undefined {
  const [first] = keysOf(editor, id);
  return first === undefined ? undefined : describeKeys(first);
}

/** Whether the browser reports a Mac. */
const isMac = typeof navigator !== 'undefined' && /mac|iphone|ipad/i.test(navigator.userAgent);

/** Keys as people read them. */
export function describeKeys(keys: string, mac = isMac): string {
  const names: Record<string, string> = {
    Mod: mac ? '⌘' : t('Ctrl'),
    Shift: mac ? '⇧' : 'Shift',
    Escape: 'Esc',
    ArrowLeft: '←',
    ArrowRight: '→',
    ArrowUp: '↑',
    ArrowDown: '↓',
    Delete: 'Del',
  };
  const stroke = (each: string): string =>
    each
      .split(/\+(?=.)/)
      .map((part) => names[part] ?? part)
      .join(mac ? '' : '+');
  return keys.split(' ').map(stroke).join(' ');
}
