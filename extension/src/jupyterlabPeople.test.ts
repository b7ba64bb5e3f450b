import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sharePeople, type Awareness } from '../jupyterlab/src/people';
import { Observable } from './core/observable';
import type { Person } from './core/people';
import type { Selection } from './core/state';

class Room implements Awareness {
  states = new Map<number, Record<string, unknown>>();
  listeners = new Set<() => void>();
  clientID = 1;
  getStates = (): Map<number, Record<string, unknown>> => this.states;
  setLocalStateField = (field: string, value: unknown): void => this.enter(1, { [field]: value });
  on = (_: 'change', listener: () => void): void => void this.listeners.add(listener);
  off = (_: 'change', listener: () => void): void => void this.listeners.delete(listener);

  enter(id: number, state: Record<string, unknown>): void {
    this.states.set(id, { ...this.states.get(id), ...state });
    for (const listener of this.listeners) listener();
  }
}

const none: Selection = { nodes: new Set(), links: new Set(), item: null };

function shown() {
  const people = new Observable<readonly Person[]>([]);
  const selection = new Observable<Selection>(none);
  return { people, selection, canvas: { pointer: () => ({ place: { x: 3, y: 4 } }) } };
}

describe('people in one document', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('hear of the pointer and the selection, not of every move', () => {
    const room = new Room();
    const editor = shown();
    const node = Object.assign(new EventTarget(), { classList: new Set(['canvas']) });
    Object.assign(node.classList, { contains: (name: string) => node.classList.has(name) });
    const stop = sharePeople(room, editor, node);
    const told = vi.spyOn(room, 'setLocalStateField');
    for (let move = 0; move < 20; move += 1) node.dispatchEvent(new Event('pointermove'));
    editor.selection.set({ ...none, nodes: new Set(['resize']) });
    vi.runAllTimers();
    expect(told.mock.calls).toEqual([['dali_lab', { pointer: { x: 3, y: 4 }, nodes: ['resize'] }]]);
    node.dispatchEvent(new Event('pointerleave'));
    vi.runAllTimers();
    expect(room.states.get(1)).toEqual({ dali_lab: { pointer: null, nodes: ['resize'] } });
    stop();
    expect(room.states.get(1)).toEqual({ dali_lab: null });
    expect(room.listeners.size).toBe(0);
  });

  it('see the others who have the canvas open, whatever these send', () => {
    const room = new Room();
    const editor = shown();
    sharePeople(room, editor, new EventTarget());
    room.enter(2, { user: { name: 'ada', display_name: 'Ada', color: 'teal' }, cursors: [] });
    expect(editor.people.get()).toEqual([]);
    room.enter(2, { dali_lab: { pointer: { x: 1, y: 2 }, nodes: ['rotate'] } });
    room.enter(3, { user: 7, dali_lab: { pointer: { x: 'a' }, nodes: ['resize', 5] } });
    expect(editor.people.get()).toEqual([
      { id: 2, name: 'Ada', color: 'teal', pointer: { x: 1, y: 2 }, nodes: ['rotate'] },
      { id: 3, name: '?', color: 'var(--accent)', pointer: null, nodes: ['resize'] },
    ]);
    room.enter(2, { dali_lab: null });
    expect(editor.people.get().map(({ id }) => id)).toEqual([3]);
  });
});
