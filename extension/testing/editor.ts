/** Editors beside a stub of the session, for tests. */
import { afterEach, beforeEach, vi } from 'vitest';
import type { GraphDocument } from '../src/core/document';
import { Editor } from '../src/core/editor';
import { StubSession } from './session';

/** A canvas that does nothing. */
export const CANVAS: NonNullable<Editor['canvas']> = {
  fit: () => undefined,
  show: () => undefined,
  grown: () => undefined,
  room: () => ({ width: 960, height: 540 }),
  zoom: () => undefined,
  centre: () => ({ x: 0, y: 0 }),
  focus: () => undefined,
  walkPanels: () => undefined,
  pointer: () => ({ place: { x: 40, y: 60 }, at: { x: 1, y: 2 }, over: true }),
  release: () => undefined,
  sizeOf: () => ({ width: 200, height: 120 }),
  focusNode: () => undefined,
  reveal: () => undefined,
};

/** An editor over a document, without previews, once it has been opened. */
export async function editorOf(document: GraphDocument): Promise<Editor> {
  const session = new StubSession(document);
  session.capabilities = { preview: false };
  const editor = new Editor(session, { make: () => 'blob:', release: () => undefined });
  await vi.advanceTimersByTimeAsync(500);
  return editor;
}

/** Makes an editor with a session before each test, under fake timers, and disposes of it after. */
export function eachWithEditor(take: (editor: Editor, session: StubSession) => void): void {
  let editor: Editor;
  beforeEach(async () => {
    vi.useFakeTimers();
    const session = new StubSession();
    editor = new Editor(session, { make: () => 'picture', release: () => undefined });
    take(editor, session);
    await vi.advanceTimersByTimeAsync(20);
  });
  afterEach(() => {
    editor.dispose();
    vi.useRealTimers();
  });
}
