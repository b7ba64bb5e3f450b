/** The preview request: how many samples, how large, and which outputs are in focus. */
import { lineage, parseEdge, type GraphDocument, type OutputRef } from './document';
import type { BatchState, Editor } from './editor';
import type { PreviewRequest } from './protocol';

/** Size of a thumbnail at a node, in pixels of the page. */
const THUMBNAIL = 112;
/** Samples in the tray at first, and how many more it shows at a time. */
export const TRAY_SAMPLES = 8;
/** Most nodes that a sample is followed through. */
const FOLLOWED = 10;

/** The edge that a node is compared with: its first input. */
export function beforeFocus(document: GraphDocument, node: string): OutputRef | null {
  const reference = document.nodes[node]?.inputs?.[0];
  return reference == null ? null : parseEdge(reference);
}

/** The outputs that the tray shows large. */
export function focusTaps(editor: Editor): OutputRef[] {
  const document = editor.history.document;
  const { mode, output } = editor.tray.get();
  const node = editor.trayNode;
  if (node === null || !editor.panels.get().tray || mode === 'sweep' || mode === 'numbers') return [];
  if (mode === 'follow')
    return lineage(document, node)
      .slice(-FOLLOWED)
      .map((id) => ({ node: id, output: 0 }));
  const taps = [{ node, output }];
  const before = beforeFocus(document, node);
  if (mode === 'compare' && before) taps.push(before);
  return taps;
}

/** Number of samples of the batch that are computed. */
export const computed = ({ samples, seen }: BatchState): number => Math.max(samples, seen);

/** The batch that is shown, for requests about its samples. */
export function shownBatch({
  iteration,
  pins,
}: Pick<BatchState, 'iteration' | 'pins'>): Pick<PreviewRequest, 'iteration' | 'pins' | 'pinned_of'> {
  return { iteration, pins: pins?.places ?? null, pinned_of: pins?.size ?? 0 };
}

/** The next preview; null while nobody would see it or none can be made. */
export function previewRequest(editor: Editor): Omit<PreviewRequest, 'run'> | null {
  const { id, capabilities } = editor.session.get();
  if (capabilities.preview === false || id === null) return null;
  // Nobody sees the canvas under the gallery; changes made meanwhile are previewed when it is left.
  if (editor.view.get().gallery) return null;
  if (editor.connection.state.get().status !== 'connected') return null;
  const batch = editor.batch.get();
  const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
  return {
    revision: editor.sync.revision.get(),
    ...shownBatch(batch),
    samples: computed(batch),
    thumb: Math.round(THUMBNAIL * ratio),
    focus: focusTaps(editor),
    focus_size: Math.round(Math.max(256, editor.tray.get().size) * ratio),
  };
}
