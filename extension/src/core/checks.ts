/** Checks of the dataset: begun and stopped, findings of a reader, and the way from a finding to its sample. */
import type { Operator } from './catalogue';
import type { Editor } from './editor';
import { begin } from './jobs';
import { t } from './language';
import type { CheckDone, CheckFinding, CheckKind } from './protocol';

/** Whether an operator has a list of samples that a check goes through. */
export function canBeChecked(operator: Operator | undefined): boolean {
  return operator?.arguments.some(({ name }) => name === 'exclude_list') ?? false;
}

/** Goes through all samples of the graph's readers. */
export function startCheck(editor: Editor): Promise<void> {
  const state = { done: 0, total: 0, rate: 0, left: 0 };
  return begin(editor, 'check', { state, besides: ['run'], failed: t('The check did not start') });
}

/** The findings about one reader; the counts are those of all readers. */
export function findingsOf(check: CheckDone, reader: string): CheckKind[] {
  return (check.kinds ?? [])
    .map((kind) => ({ ...kind, findings: kind.findings.filter((finding) => finding.reader === reader) }))
    .filter(({ findings }) => findings.length > 0);
}

/** Shows the sample of a finding: in the tray, and at every node. The reader stays selected, and with it the report. */
export function showFinding(editor: Editor, finding: CheckFinding): void {
  const { iteration, index, reader } = finding;
  if (iteration === undefined || index === undefined) return;
  editor.panels.patch({ tray: true });
  editor.tray.patch({ mode: 'batch', sample: index, reveal: index });
  editor.batch.update((batch) => ({ ...batch, iteration, seen: Math.max(batch.seen, index + 1) }));
  editor.view.patch({ hoverSample: index });
  if (editor.history.document.nodes[reader]) editor.select([reader]);
}
