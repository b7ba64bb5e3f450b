import { describe, expect, it, vi } from 'vitest';
import { eachWithEditor } from '../../testing/editor';
import type { StubSession } from '../../testing/session';
import { findingsOf, showFinding, startCheck } from './checks';
import { end } from './jobs';
import type { Editor } from './editor';
import type { CheckDone, CheckFinding } from './protocol';

let session: StubSession;
let editor: Editor;

eachWithEditor((made, stub) => {
  editor = made;
  session = stub;
});

const finding: CheckFinding = {
  kind: 'damaged',
  severity: 'error',
  reader: 'reader',
  message: 'it is empty',
  sample: 'cats/1.jpg',
  node: 'rotate',
  iteration: 3,
  index: 11,
};
const done = (run: number): CheckDone => ({
  run,
  status: 'done',
  samples: 40,
  kinds: [
    { kind: 'damaged', severity: 'error', title: 'Damaged', count: 1, findings: [finding] },
    {
      kind: 'size',
      severity: 'warning',
      title: 'Large',
      count: 1,
      findings: [{ ...finding, reader: 'other' }],
    },
  ],
});

describe('a check of the dataset', () => {
  it('shows how far it is, and keeps the report', async () => {
    void startCheck(editor);
    await vi.advanceTimersByTimeAsync(20);
    const run = session.last('check')['run'] as number;
    session.event('check.progress', { run, done: 20, total: 40, rate: 10, left: 2 });
    expect(editor.jobs.get().check).toMatchObject({ done: 20, total: 40 });
    session.event('check.done', done(run + 1));
    expect(editor.jobs.get().check).not.toBeNull();
    session.event('check.done', done(run));
    expect(editor.jobs.get().check).toBeNull();
    expect(editor.jobs.get().lastCheck?.samples).toBe(40);
  });

  it('is stopped by its number', async () => {
    void startCheck(editor);
    await vi.advanceTimersByTimeAsync(20);
    end(editor, 'check');
    await vi.advanceTimersByTimeAsync(20);
    expect(session.last('cancel')).toEqual({ run: session.last('check')['run'] });
  });

  it('has findings by reader, each of which leads to its sample', () => {
    const kinds = findingsOf(done(1), 'reader');
    expect(kinds.map(({ kind }) => kind)).toEqual(['damaged']);
    showFinding(editor, { ...finding, reader: 'rotate' });
    expect(editor.batch.get()).toMatchObject({ iteration: 3 });
    expect(editor.batch.get().seen).toBeGreaterThan(11);
    expect(editor.tray.get()).toMatchObject({ mode: 'batch', sample: 11, reveal: 11 });
    expect([...editor.selection.get().nodes]).toEqual(['rotate']); // the report stays beside the canvas
    editor.select([]);
    showFinding(editor, { kind: 'size', severity: 'warning', reader: 'reader', message: 'elsewhere' });
    expect([...editor.selection.get().nodes]).toEqual([]);
  });
});
