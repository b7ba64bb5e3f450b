/** Tells the others who have a document open where this person is, and the canvas where they are. */
import type { Point } from '../../src/core/edits';
import type { Observable } from '../../src/core/observable';
import type { Person, Whereabouts } from '../../src/core/people';
import type { Selection } from '../../src/core/state';

/** At most so often the others hear of a moving pointer, in milliseconds. */
const TELL_MS = 80;
const FIELD = 'dali_lab';

/** The awareness of a document that several people write in (jupyter-collaboration), as far as it is needed here. */
export interface Awareness {
  clientID: number;
  getStates(): Map<number, Record<string, unknown>>;
  setLocalStateField(field: string, value: unknown): void;
  on(event: 'change', listener: () => void): void;
  off(event: 'change', listener: () => void): void;
}

/** The parts of an editor that take part. */
export interface Shown {
  people: Observable<readonly Person[]>;
  selection: Observable<Selection>;
  canvas: { pointer(): { place: Point } } | null;
}

/** Begins to share; the function that it returns ends that. */
export function sharePeople(awareness: Awareness, editor: Shown, node: EventTarget): () => void {
  const mine: Whereabouts = { pointer: null, nodes: [] };
  let timer: ReturnType<typeof setTimeout> | null = null;
  const tell = (change: Partial<Whereabouts>): void => {
    Object.assign(mine, change);
    timer ??= setTimeout(() => {
      timer = null;
      awareness.setLocalStateField(FIELD, { ...mine });
    }, TELL_MS);
  };
  const onMove = (event: Event): void =>
    tell({ pointer: (isOverCanvas(event) && editor.canvas?.pointer().place) || null });
  const onLeave = (): void => tell({ pointer: null });
  const onChange = (): void => editor.people.set(othersOf(awareness));
  const stop = editor.selection.subscribe(({ nodes }) => tell({ nodes: [...nodes] }));
  node.addEventListener('pointermove', onMove);
  node.addEventListener('pointerleave', onLeave);
  awareness.on('change', onChange);
  onChange();
  return () => {
    if (timer !== null) clearTimeout(timer);
    stop();
    node.removeEventListener('pointermove', onMove);
    node.removeEventListener('pointerleave', onLeave);
    awareness.off('change', onChange);
    awareness.setLocalStateField(FIELD, null);
  };
}

/** Also from outside of the editor's shadow root. */
function isOverCanvas(event: Event): boolean {
  return event.composedPath().some((each) => (each as Partial<Element>).classList?.contains('canvas'));
}

/** The others who show this document on a canvas. What they send is not trusted. */
function othersOf(awareness: Awareness): Person[] {
  const people: Person[] = [];
  for (const [id, state] of awareness.getStates()) {
    const { user, [FIELD]: place } = state;
    if (id === awareness.clientID || !isRecord(place)) continue;
    const { pointer, nodes } = place;
    const known = isRecord(user) ? user : {};
    const at = isRecord(pointer) ? { x: Number(pointer['x']), y: Number(pointer['y']) } : null;
    people.push({
      id,
      name: textOf(known['display_name']) ?? textOf(known['name']) ?? textOf(known['username']) ?? '?',
      color: textOf(known['color']) ?? 'var(--accent)',
      pointer: at && Number.isFinite(at.x) && Number.isFinite(at.y) ? at : null,
      nodes: Array.isArray(nodes) ? nodes.filter((each): each is string => typeof each === 'string') : [],
    });
  }
  return people;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, 80) : null;
}
