import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Wire } from '../../dev/wire';
import * as edits from './edits';
import { Editor } from './editor';

const pictures = { make: () => 'picture', release: () => undefined };
/** By then the editor has asked, and begun anew. */
const SOON = 12_000;

let wire: Wire;
let editor: Editor;

beforeEach(async () => {
  vi.useFakeTimers();
  wire = new Wire();
  editor = new Editor(wire, pictures);
  await vi.advanceTimersByTimeAsync(20);
});

afterEach(() => {
  editor.dispose();
  vi.useRealTimers();
});

const angle = (value: number): void => {
  editor.edit('angle', (document) => edits.setArgument(document, 'rotate', 'angle', value));
};
const done = (): void =>
  wire.event('preview.done', { run: wire.last('preview')['run'], status: 'done', total_ms: 1 });
const running = (): boolean => editor.previews.status.get().running;

it('asks for another preview when the end of one was lost', async () => {
  wire.deaf = true;
  done();
  wire.deaf = false;
  expect(running()).toBe(true);
  await vi.advanceTimersByTimeAsync(SOON);
  expect(wire.count('preview')).toBe(2);
  done();
  expect(running()).toBe(false);
  expect(wire.count('hello')).toBe(2);
});

it('asks for another preview when nobody heard that one was asked for', async () => {
  done();
  wire.lost.add('preview');
  editor.previews.ask();
  await vi.advanceTimersByTimeAsync(20);
  wire.lost.clear();
  await vi.advanceTimersByTimeAsync(SOON);
  expect(wire.count('preview')).toBe(3);
  done();
  expect(running()).toBe(false);
});

it('sends an edit again that did not arrive', async () => {
  wire.lost.add('edit');
  angle(8);
  await vi.advanceTimersByTimeAsync(50);
  wire.lost.clear();
  await vi.advanceTimersByTimeAsync(SOON);
  expect(wire.document.nodes['rotate']?.arguments?.['angle']).toBe(8);
  expect(editor.sync.pending.get()).toBe(false);
});

it('sends an edit again whose answer was lost, and goes on', async () => {
  wire.deaf = true;
  angle(8);
  await vi.advanceTimersByTimeAsync(50);
  wire.deaf = false;
  await vi.advanceTimersByTimeAsync(SOON);
  expect(editor.sync.pending.get()).toBe(false);
  angle(9);
  await vi.advanceTimersByTimeAsync(50);
  expect(wire.document.nodes['rotate']?.arguments?.['angle']).toBe(9);
  expect(editor.history.state.get().steps).toHaveLength(2);
});

it('takes what another editor changed while nothing arrived', async () => {
  done();
  wire.deaf = true;
  wire.document = edits.setArgument(wire.document, 'resize', 'size', [9, 9]);
  wire.event('changed', { client: 'other', revision: ++wire.revision, changes: {} });
  wire.deaf = false;
  await vi.advanceTimersByTimeAsync(SOON);
  expect(editor.document.get().nodes['resize']?.arguments?.['size']).toEqual([9, 9]);
});

it('waits for an answer that takes long', async () => {
  done();
  wire.held.add('sweep');
  let ended = false;
  editor.connection.call('sweep').catch(() => (ended = true));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ended).toBe(false);
  expect(wire.count('ping')).toBeGreaterThan(3);
  expect(wire.count('hello')).toBe(1);
  expect(editor.connection.state.get().silent).toBe(false);
});

it('waits for a session that is busy, and asks nothing twice of it', async () => {
  for (const method of ['ping', 'edit']) wire.held.add(method);
  angle(8);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(editor.connection.state.get()).toMatchObject({ status: 'connected', silent: true });
  expect(wire.count('edit')).toBe(1);
  expect(wire.count('hello')).toBe(1);
});

it('takes messages that overtake each other', async () => {
  done();
  wire.overtake('first', 'second');
  await vi.advanceTimersByTimeAsync(SOON);
  expect(wire.count('hello')).toBe(1);
});
