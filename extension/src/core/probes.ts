/** Probes: a small network trained with and without augmentations, begun and stopped, and what it found in words. */
import { lineage, parseEdge, type GraphDocument, type OutputRef } from './document';
import type { Editor } from './editor';
import { begin } from './jobs';
import { t } from './language';
import type { ProbeCurve, ProbeDone } from './protocol.generated';
import type { Probed } from './state';

/** The pictures that a probe trains on: the first output of the graph, else what the tray shows; null without any. */
export function probed(editor: Editor): OutputRef | null {
  const { outputs, nodes } = editor.history.document;
  const marked = outputs.map(parseEdge).find(({ node }) => nodes[node]);
  return marked ?? (editor.trayNode === null ? null : { node: editor.trayNode, output: 0 });
}

/** The steps before a node whose result depends on chance, in the order of the work. */
export function randomSteps(editor: Editor, id: string): string[] {
  const document: GraphDocument = editor.history.document;
  const catalogue = editor.catalogue.get();
  const operator = (name: string) => catalogue?.operator(document.nodes[name]?.op ?? '');
  const reads = (name: string): boolean =>
    lineage(document, name).some((each) => operator(each)?.name.includes('readers.'));
  const draws = (name: string): boolean =>
    !reads(name) && lineage(document, name).some((each) => operator(each)?.random === true);
  return lineage(document, id).filter((name) => {
    const node = document.nodes[name];
    if (!node || (node.inputs ?? []).length === 0 || !reads(name)) return false;
    const connected = Object.values(node.connections ?? {}).map((reference) => parseEdge(reference).node);
    return operator(name)?.random === true || connected.some(draws);
  });
}

/** What a probe of the graph as it is now trains on. */
function probedNow(editor: Editor): Probed | null {
  const output = probed(editor);
  if (output === null) return null;
  const document = editor.history.document;
  const nodes = lineage(document, output.node).flatMap((id) => document.nodes[id] ?? []);
  const read = nodes.map((node) => node.arguments?.['file_root']).find((root) => typeof root === 'string');
  return { graph: JSON.stringify([nodes, document.subgraphs]), folder: read ?? '' };
}

/** What the last outcome is of, where the graph has become another since. */
export function outdatedProbe(editor: Editor): Probed | null {
  const of = editor.jobs.get().lastProbe?.of ?? null;
  return of !== null && of.graph !== probedNow(editor)?.graph ? of : null;
}

/** Begins a probe with the settings that were chosen. */
export async function startProbe(editor: Editor): Promise<void> {
  const output = probed(editor);
  if (output === null) return;
  const settings = editor.jobs.get().probeSettings;
  const nodes = settings.nodes ?? randomSteps(editor, output.node);
  editor.jobs.patch({ probed: probedNow(editor) });
  await begin(editor, 'probe', {
    state: { done: 0, total: 2 * settings.seeds * settings.epochs, left: null, curves: [] },
    params: { ...output, ...settings, nodes },
    besides: ['run', 'check', 'distribution'],
    failed: t('The probe did not start'),
  });
}

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Mean of the last accuracies with or without the steps. */
export function lastAccuracy(curves: readonly ProbeCurve[], augmented: boolean): number | null {
  const last = curves
    .filter((curve) => curve.augmented === augmented)
    .map(({ accuracies }) => accuracies.at(-1))
    .filter((accuracy) => accuracy !== undefined);
  return last.length === 0 ? null : last.reduce((sum, each) => sum + each, 0) / last.length;
}

/** The answer to "does it help?" in a sentence. */
export function verdict({ difference, spread }: Pick<ProbeDone, 'difference' | 'spread'>): string {
  if (difference === undefined) return '';
  const points = Math.abs(100 * difference).toFixed(1);
  if (spread === undefined) return t('One seed cannot tell a difference from chance. Try several.');
  if (Math.abs(difference) <= spread)
    return t('No difference that stands out from the spread between seeds.');
  return difference > 0
    ? t('It helps here: %1 points more right answers.', points)
    : t('It hurts here: %1 points fewer right answers.', points);
}
