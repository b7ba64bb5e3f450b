/** Work done once: what a cache would cost and give is measured, and switched on in the pipeline's settings. */
import { setPipeline } from './edits';
import type { Editor } from './editor';
import { begin } from './jobs';
import { t } from './language';

/** Runs the graph with and without a cache in memory. */
export function startCacheMeasurement(editor: Editor): Promise<void> {
  const besides = ['run', 'check', 'distribution'] as const;
  return begin(editor, 'cache', { state: {}, besides, failed: t('The cache was not measured') });
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
