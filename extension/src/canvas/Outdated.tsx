/** A note that some work was about another graph than the one that is shown. */
import { outdated } from '../core/jobs';
import { t } from '../core/language';
import { useEditor, useValue } from './context';

export function useOutdated(run: number | undefined): boolean {
  const editor = useEditor();
  return useValue(editor.document, () => outdated(editor, run));
}

export function Outdated({ run }: { run: number }) {
  return useOutdated(run) ? (
    <strong className="muted" role="status" data-testid="outdated">
      {t('The graph has changed since.')}
    </strong>
  ) : null;
}
