/** The dataset of a reader: pages of its samples, samples that are pinned, and distributions of a node's numbers. */
import type { Editor } from './editor';
import { begin } from './jobs';
import { t } from './language';
import { pictureOf, type Picture } from './pictures';
import type { Chart, DatasetPage, DatasetRequest, DatasetSample } from './protocol.generated';
import type { GraphDocument } from './document';
import { lineage } from './document';
import { canBeChecked } from './checks';

/** Samples of a page. */
export const PAGE = 60;
export type Query = Omit<DatasetRequest, 'first' | 'count' | 'thumb'>;
export type Shown = DatasetSample & { picture: Picture | null };

/** One page with its pictures. */
export async function datasetPage(
  editor: Editor,
  query: Query,
  first: number,
  count: number,
  thumb: number,
): Promise<DatasetPage & { samples: Shown[] }> {
  editor.sync.flush();
  const { result, buffers } = await editor.connection.request('dataset', {
    ...query,
    first,
    count,
    thumb,
  });
  const samples = result.samples.map((sample) => ({ ...sample, picture: pictureOf(sample.image, buffers) }));
  return { ...result, samples };
}

/** The reader with a list of samples that a node's data come from, itself included; null without one. */
export function readerOf(editor: Editor, id: string | null): string | null {
  const document: GraphDocument = editor.history.document;
  const catalogue = editor.catalogue.get();
  const lists = (name: string): boolean => canBeChecked(catalogue?.operator(document.nodes[name]?.op ?? ''));
  if (id !== null) {
    const before = lineage(document, id).find(lists);
    if (before !== undefined) return before;
  }
  return Object.keys(document.nodes).find(lists) ?? null;
}

/** Previews show these samples alone, by their places in the list; null goes back to those that come in turn. */
export function pin(editor: Editor, places: readonly number[] | null, size = 0): void {
  const pins = places && places.length > 0 ? { places: [...places], size } : null;
  editor.batch.update((batch) => ({
    ...batch,
    iteration: 0,
    seen: Math.max(batch.seen, Math.min(pins?.places.length ?? 0, 64)),
    pins,
  }));
}

/** Runs a node over many samples, for the distributions of its numbers. */
export function startDistribution(
  editor: Editor,
  node: string,
  output: number,
  samples: number,
): Promise<void> {
  return begin(editor, 'distribution', {
    state: { node, output, done: 0, total: samples, began: Date.now() },
    params: { node, output, samples },
    besides: ['run', 'check'],
    failed: t('The samples could not be counted'),
  });
}

export interface Distribution {
  run: number;
  node: string;
  output: number;
  samples: number;
  failed: number;
  charts: Chart[];
}
