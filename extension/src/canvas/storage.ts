/** Kept in this browser: panels, favourites, recent operators, and unsaved graphs that others have replaced. */
import type { Kept } from '../core/kept';
import { Observable, type Value } from '../core/observable';

/** People of a JupyterHub share its address, and maybe a browser: what is kept belongs to one of them. */
function personOf(path: string): string {
  return /^.*?\/user\/[^/]+\//.exec(path)?.[0] ?? '';
}

const PREFIX = `dali-lab:${personOf((globalThis as { location?: Location }).location?.pathname ?? '')}`;

function read<T>(key: string, fallback: T): T {
  try {
    const text = globalThis.localStorage.getItem(PREFIX + key);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

function write(key: string, value: unknown): void {
  try {
    globalThis.localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // Private windows and sandboxed frames have no storage; the editor works without.
  }
}

/** An observable that is remembered, and follows what other pages of this browser remember. */
export function remembered<T>(key: string, fallback: T): Observable<T> {
  const observable = new Observable(read(key, fallback));
  observable.subscribe((value) => write(key, value));
  const follow = (event: StorageEvent): void => {
    // Without a key, all was cleared.
    if (event.key === PREFIX + key || event.key === null) observable.set(read(key, fallback));
  };
  // Tests in Node have no window.
  if ('window' in globalThis) globalThis.addEventListener('storage', follow);
  return observable;
}

export function remember<T>(key: string, observable: Value<T>): void {
  const stored = read<T | null>(key, null);
  if (stored !== null) {
    const current = observable.get();
    observable.set(typeof current === 'object' && current !== null ? { ...current, ...stored } : stored);
  }
  observable.subscribe((value) => write(key, value));
}

/** Unsaved graphs that others have replaced. */
export const keptGraphs = remembered<readonly Kept[]>('kept', []);

export const favourites = remembered<string[]>('favourites', []);
export const recent = remembered<string[]>('recent', []);
/** Sections of the palette that a person opened (true) or closed (false). */
export const sections = remembered<Record<string, boolean>>('palette-sections', {});

export function noteRecent(op: string): void {
  recent.update((before) => [op, ...before.filter((each) => each !== op)].slice(0, 6));
}

export function toggleFavourite(op: string): void {
  favourites.update((before) =>
    before.includes(op) ? before.filter((each) => each !== op) : [...before, op],
  );
}

/** Folders that were looked into, the last first. */
export const recentFolders = remembered<readonly string[]>('folders', []);

export function noteFolder(path: string): void {
  recentFolders.update((before) => [path, ...before.filter((each) => each !== path)].slice(0, 8));
}
