/** The line below: device, batch, seed, times, and what wants attention. */
import { nextProblem } from '../core/navigation';
import { transfers } from '../core/placement';
import { gpuMemoryFigure, secondsLeft } from '../core/runs';
import { formatBytes, formatTime, formatValue, timeLeft } from '../core/values';
import { ConnectionAlarm } from './ConnectionAlarm';
import { useEditor, useHint, useLasting, useValue } from './context';
import { Icon } from './icons';
import { t, tn } from '../core/language';
import { useOutdated } from './Outdated';
import './StatusLine.css';

export function StatusLine() {
  const editor = useEditor();
  const info = useValue(editor.session);
  const { status, silent } = useValue(editor.connection.state);
  const pending = useLasting(useValue(editor.sync.pending));
  const preview = useValue(editor.previews.status);
  const pipeline = useValue(editor.document, (document) => document.pipeline);
  const count = useValue(editor.document, (document) => Object.keys(document.nodes).length);
  const selected = useValue(editor.selection, (selection) => selection.nodes.size);
  const differing = useValue(editor.differing, (nodes) => nodes?.size ?? null);
  const problems = useValue(editor.problems);
  const run = useValue(editor.jobs, ({ run }) => run);
  const left = run && secondsLeft(run);
  const probe = useValue(editor.jobs, ({ probe }) => probe);
  const last = useValue(editor.jobs, ({ lastRun }) => lastRun);
  const outdated = useOutdated(last?.run);
  const failing = [...editor.previews.nodes].filter((id) => editor.previews.result(id)?.error).length;
  const errors = Math.max(failing, problems.filter(({ severity }) => severity === 'error').length);
  const warnings = problems.filter(({ severity }) => severity === 'warning').length;
  const keys = useHint('next-problem');
  const gpuMemory = gpuMemoryFigure(last);
  const connected = status === 'connected';
  const graph = useValue(editor.document);
  useValue(editor.previews.version);
  const moved = transfers(graph, ({ node, output }) => editor.previews.result(node)?.outputs[output]);
  return (
    <div className="status line muted" data-testid="status">
      <ConnectionAlarm connection={editor.connection} />
      {connected && !silent && <span title={t('Where previews run')}>{info.device || t('connected')}</span>}
      {pending && connected && <span className="muted">{t('sending…')}</span>}
      <span>{t('batch of %1', formatValue(pipeline['batch_size']))}</span>
      <span>
        {selected > 1
          ? tn('%1 node, %2 selected', '%1 nodes, %2 selected', count, selected)
          : tn('%1 node', '%1 nodes', count)}
      </span>
      {differing !== null && (
        <span data-testid="differing">
          {differing === 0
            ? t('the same graph as beside')
            : tn('%1 node differs from beside', '%1 nodes differ from beside', differing)}
        </span>
      )}
      {probe && (
        <button
          type="button"
          className="status-problems going"
          data-testid="status-probe"
          title={t('Show the curves')}
          onClick={() => editor.prompts.patch({ dialog: 'probe' })}
        >
          <progress max={probe.total} value={probe.done} aria-label={t('Progress of the probe')} />
          {probe.left === null ? t('probe') : t('probe, %1', timeLeft(probe.left))}
        </button>
      )}
      {preview.progress ? (
        <span className="status-progress">
          <progress max={preview.progress.total} value={preview.progress.done} aria-label={t('Preview')} />
          {preview.progress.node ?? t('preview')}
        </span>
      ) : (
        preview.total !== null && (
          <span title={t('Time of the last preview')}>{t('preview %1', formatTime(preview.total))}</span>
        )
      )}
      {preview.error && <span className="status-error">{preview.error}</span>}
      <span className="spring" />
      {run ? (
        <span className="status-progress" role="status">
          <progress {...(run.total ? { max: run.total, value: run.done } : {})} aria-label={t('Run')} />
          {run.rate !== null && <span>{t('%1 images/s', Math.round(run.rate))}</span>}
          {left !== null && <span>{timeLeft(left)}</span>}
        </span>
      ) : (
        last && (
          <span
            className={outdated ? 'outdated' : ''}
            title={[
              t('%1 batches in %2 s', last.batches, last.seconds.toFixed(2)),
              ...(outdated ? [t('The graph has changed since.')] : []),
            ].join(' · ')}
            data-testid="rate"
          >
            {t('%1 images/s', Math.round(last.images_per_second).toLocaleString('en'))}
          </span>
        )
      )}
      {gpuMemory && (
        <span title={gpuMemory.title} data-testid="gpu-memory">
          {gpuMemory.text}
        </span>
      )}
      {moved.count > 0 && (
        <span title={t('Data moved between CPU and GPU in each batch')} data-testid="transfers">
          {moved.bytes > 0
            ? tn('%1 transfer, %2', '%1 transfers, %2', moved.count, formatBytes(moved.bytes))
            : tn('%1 transfer', '%1 transfers', moved.count)}
        </span>
      )}
      {errors + warnings > 0 && (
        <button
          type="button"
          className="status-problems"
          data-command="next-problem"
          onClick={() => nextProblem(editor)}
          title={keys === undefined ? t('Go to the next one') : t('Go to the next one (%1)', keys)}
        >
          <Icon name="warning" size={12} />
          {errors > 0 ? tn('%1 error', '%1 errors', errors) : ''}
          {errors > 0 && warnings > 0 ? ', ' : ''}
          {warnings > 0 ? tn('%1 warning', '%1 warnings', warnings) : ''}
        </button>
      )}
      {info.version && (
        <span className="muted ellipsis status-version">{t('DALI Lab %1', info.version)}</span>
      )}
    </div>
  );
}
