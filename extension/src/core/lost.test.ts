import { expect, it, vi } from 'vitest';
import { eachWithEditor } from '../../testing/editor';
import type { StubSession } from '../../testing/session';
import * as edits from './edits';
import type { Editor } from './editor';

/** By then the editor has asked, and begun anew. */
const SOON = 12_000;

let session: StubSession;
let editor: Editor;

eachWithEditor((made, stub) => {
  editor = made;
  session = stub;
});

const angle = (value: number): void => {
  editor.edit('angle', (document) => edits.setArgument(document, 'rotate', 'angle', value));
};
const done = (): void =>
  session.event('preview.done', { run: session.last('preview')['run'], status: 'done', total_ms: 1 });
const running = (): boolean => editor.previews.status.get().running;

it('asks for another preview when the end of one was lost', async () => {
  session.deaf = true;
  done();
  session.deaf = false;
  expect(running()).toBe(true);
  await vi.advanceTimersByTimeAsync(SOON);
  expect(session.count('preview')).toBe(2);
  done();
  expect(running()).toBe(false);
  expect(session.count('hello')).toBe(2);
});

it('asks for another preview when nobody heard that one was asked for', async () => {
  done();
  session.lost.add('preview');
  editor.previews.ask();
  await vi.advanceTimersByTimeAsync(20);
  session.lost.clear();
  await vi.advanceTimersByTimeAsync(SOON);
  expect(session.count('preview')).toBe(3);
  done();
  expect(running()).toBe(false);
});

it('sends an edit again that did not arrive', async () => {
  session.lost.add('edit');
  angle(8);
  await vi.advanceTimersByTimeAsync(50);
  session.lost.clear();
  await vi.advanceTimersByTimeAsync(SOON);
  expect(session.document.nodes['rotate']?.arguments?.['angle']).toBe(8);
  expect(editor.sync.pending.get()).toBe(false);
});

it('sends an edit again whose answer was lost, and goes on', async () => {
  session.deaf = true;
  angle(8);
  await vi.advanceTimersByTimeAsync(50);
  session.deaf = false;
  await vi.advanceTimersByTimeAsync(SOON);
  expect(editor.sync.pending.get()).toBe(false);
  angle(9);
  await vi.advanceTimersByTimeAsync(50);
  expect(session.document.nodes['rotate']?.arguments?.['angle']).toBe(9);
  expect(editor.history.state.get().steps).toHaveLength(2);
});

it('takes what another editor changed while nothing arrived', async () => {
  done();
  session.deaf = true;
  session.document = edits.setArgument(session.document, 'resize', 'size', [9, 9]);
  session.event('changed', { client: 'other', revision: ++session.revision, changes: {} });
  session.deaf = false;
  await vi.advanceTimersByTimeAsync(SOON);
  expect(editor.document.get().nodes['resize']?.arguments?.['size']).toEqual([9, 9]);
});

it('waits for an answer that takes long', async () => {
  done();
  session.held.add('sweep');
  let ended = false;
  editor.connection.call('sweep', {} as never).catch(() => (ended = true));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ended).toBe(false);
  expect(session.count('ping')).toBeGreaterThan(3);
  expect(session.count('hello')).toBe(1);
  expect(editor.connection.state.get().silent).toBe(false);
});

it('waits for a session that is busy, and asks nothing twice of it', async () => {
  for (const method of ['ping', 'edit']) session.held.add(method);
  angle(8);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(editor.connection.state.get()).toMatchObject({ status: 'connected', silent: true });
  expect(session.count('edit')).toBe(1);
  expect(session.count('hello')).toBe(1);
});

it('takes messages that overtake each other', async () => {
  done();
  session.overtake('first', 'second');
  await vi.advanceTimersByTimeAsync(SOON);
  expect(session.count('hello')).toBe(1);
});
