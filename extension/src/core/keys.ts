/** Keys: which command a press means, and how keys are written for people. */
import { COMMANDS, type Command } from './commandTable';
import { t } from './language';

export interface KeyLike {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/** The command that a key press means. */
export function commandForKey(event: KeyLike): Command | undefined {
  const mod = event.ctrlKey || event.metaKey;
  const key = event.key === ' ' ? 'Space' : event.key.length === 1 ? event.key.toUpperCase() : event.key;
  const pressed = `${mod ? 'Mod+' : ''}${event.altKey ? 'Alt+' : ''}${event.shiftKey ? 'Shift+' : ''}${key}`;
  const symbol =
    event.key.length === 1 && !event.altKey && !/[a-z0-9]/i.test(event.key)
      ? `${mod ? 'Mod+' : ''}${event.key}`
      : null;
  return COMMANDS.find(({ keys }) => keys?.some((each) => each === pressed || each === symbol));
}

/** Keys as people read them. */
export function describeKeys(keys: string, mac: boolean): string {
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
  const parts = keys.split(/\+(?=.)/).map((part) => names[part] ?? part);
  return parts.join(mac ? '' : '+');
}
