/** Work done once: what a cache would cost and give is measured, and switched on in the pipeline's settings. */
import { setPipeline } from './edits';
import type { Editor } from './editor';
import { t } from './language';

/** Runs the graph with and without a cache in memory. */
export async function startCacheMeasurement(editor: Editor): Promise<void> {
  const { run: running, check, distribution, cache } = editor.jobs.get();
  if (running || check || distribution || cache !== null) return;
  const run = editor.previews.newRun();
  editor.sync.flush();
  editor.jobs.patch({ cache: run });
  try {
    await editor.connection.call('cache', { run });
  } catch (error) {
    editor.jobs.patch({ cache: null });
    editor.report(error, t('The cache was not measured'));
  }
}

export function stopCacheMeasurement(editor: Editor): void {
  const { cache } = editor.jobs.get();
  if (cache !== null) editor.connection.call('cancel', { run: cache }).catch(() => undefined);
}

/** Keeps what never changes: in memory, in a folder, or, without a place, not at all. */
export function keepIn(editor: Editor, place: string | null): void {
  editor.edit(place === null ? t('Switch the cache off') : t('Switch the cache on'), (document) =>
    setPipeline(document, 'cache', place ?? 'off'),
  );
}

/** The pipeline's cache, or null where it is off. */
export function cachePlace(pipeline: Record<string, unknown>): string | null {
  const { cache } = pipeline;
  return typeof cache === 'string' && cache !== 'off' ? cache : null;
}
