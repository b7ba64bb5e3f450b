/** Graphs that gave way to another one before they were saved: kept with their undo, so that opening loses nothing. */
import type { GraphDocument } from './document';
import type { Editor } from './editor';
import { diff, isEmpty } from './changes';
import type { HistoryState } from './history';
import { t } from './language';
import type { FileInfo } from './protocol';

export interface Kept {
  /** Time at which it was replaced, in milliseconds. */
  at: number;
  title: string;
  file: FileInfo | null;
  document: GraphDocument;
  history: HistoryState;
}

const MOST = 5;

/** The graph on the canvas, if it has changes that are not saved. */
export function unsaved(editor: Editor): Kept | null {
  const { dirty, title, file } = editor.session.get();
  const { document, state } = editor.history;
  if (!dirty || Object.keys(document.nodes).length === 0) return null;
  return { at: Date.now(), title, file, document, history: state.get() };
}

/** Keeps a graph that another one has replaced, and offers the way back. */
export function keep(editor: Editor, graph: Kept): void {
  editor.kept.update((before) => [graph, ...before].slice(0, MOST));
  const back = { title: t('Back to it'), run: () => void goBack(editor, graph) };
  editor.notify('info', t('“%1” was not saved; it is kept under Open.', graph.title), { actions: [back] });
}

/** Graphs on their way back: a second press while the session answers is no second way. */
const returning = new WeakSet<Kept>();

/** Shows a kept graph again, with its undo; the graph on the canvas is kept instead, if it is not saved. */
export async function goBack(editor: Editor, graph: Kept): Promise<void> {
  const { document, file } = graph;
  let other: Kept | null;
  if (returning.has(graph)) return;
  returning.add(graph);
  try {
    const opened = await editor.connection.call('restore', {
      document,
      file: file && { ...file },
      dirty: true,
    });
    other = unsaved(editor);
    editor.adopt({ ...opened, title: graph.title });
  } catch (error) {
    editor.report(error, t('It could not be opened'));
    return;
  } finally {
    returning.delete(graph);
  }
  editor.kept.update((before) => before.filter(({ at }) => at !== graph.at));
  resumeUndo(editor, document, graph.history);
  if (other) keep(editor, other);
}

/** Takes up the steps of undo that led to a document, if that is the one on the canvas; says whether it is. */
export function resumeUndo(editor: Editor, document: GraphDocument, state: HistoryState): boolean {
  if (!isEmpty(diff(document, editor.history.document))) return false;
  editor.history.state.set(state);
  return true;
}
