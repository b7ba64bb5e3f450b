/** Undo survives the reload of a page: its steps are written when the page goes, for the tab alone. */
import type { GraphDocument } from '../core/document';
import type { Editor } from '../core/editor';
import type { HistoryState } from '../core/history';
import { resumeUndo } from '../core/kept';
import type { KeptMoments } from '../core/moments';

interface Written {
  session: string;
  document: GraphDocument;
  history: HistoryState;
  /** Times and pictures of the steps; left out where the browser has no room for the pictures. */
  moments?: KeptMoments;
}

const keyOf = (session: string): string => `dali-lab:undo:${session}`;

/** Keeps the steps of an editor over reloads of the page, until the returned function is called. */
export function keepUndo(editor: Editor): () => void {
  const write = (): void => {
    const { id } = editor.session.get();
    const history = editor.history.state.get();
    if (id === null || history.steps.length === 0) return;
    const written: Written = { session: id, document: editor.history.document, history };
    for (const each of [{ ...written, moments: editor.moments.kept() }, written]) {
      try {
        globalThis.sessionStorage.setItem(keyOf(id), JSON.stringify(each));
        return;
      } catch {
        // Too much for the browser, or no storage in a private window: then there is no undo after a reload.
      }
    }
  };
  const read = (): void => {
    const { id } = editor.session.get();
    if (id === null || editor.history.state.get().steps.length > 0) return;
    try {
      const text = globalThis.sessionStorage.getItem(keyOf(id));
      globalThis.sessionStorage.removeItem(keyOf(id));
      if (text === null) return;
      const { document, history, moments } = JSON.parse(text) as Written;
      if (resumeUndo(editor, document, history) && moments) editor.moments.resume(moments);
    } catch {
      // As above.
    }
  };
  globalThis.addEventListener('pagehide', write);
  const stop = editor.session.watch('ready', (ready) => {
    if (ready) read();
  });
  return () => {
    globalThis.removeEventListener('pagehide', write);
    stop();
  };
}
