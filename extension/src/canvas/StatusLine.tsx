/** The line below: device, batch, seed, times, and what wants attention. */
import { nextProblem } from '../core/navigation';
import { formatBytes, transfers } from '../core/placement';
import { gpuMemoryFigure } from '../core/runs';
import { formatTime, formatValue } from '../core/values';
import { useEditor, useValue } from './context';
import { Icon } from './icons';

export function StatusLine() {
  const editor = useEditor();
  const info = useValue(editor.info);
  const connection = useValue(editor.connection.state);
  const pending = useValue(editor.sync.pending);
  const preview = useValue(editor.previews.status);
  const pipeline = useValue(editor.document, (document) => document.pipeline);
  const count = useValue(editor.document, (document) => Object.keys(document.nodes).length);
  const selected = useValue(editor.selection, (selection) => selection.nodes.size);
  const problems = useValue(editor.problems);
  const run = useValue(editor.run);
  const last = useValue(editor.lastRun);
  useValue(editor.previews.version);
  const failing = [...editor.previews.nodes].filter((id) => editor.previews.result(id)?.error).length;
  const errors = Math.max(failing, problems.filter(({ severity }) => severity === 'error').length);
  const warnings = problems.filter(({ severity }) => severity === 'warning').length;
  const gpuMemory = gpuMemoryFigure(last);
  const connected = connection.status === 'connected';
  const graph = useValue(editor.document);
  useValue(editor.previews.version);
  const moved = transfers(graph, ({ node, output }) => editor.previews.result(node)?.outputs[output]);
  return (
    <div className="status" data-testid="status">
      {!connected ? (
        <span className="status-alarm" role="status">
          <Icon name="warning" size={12} />
          {connection.status === 'connecting'
            ? 'Connecting…'
            : 'The session cannot be reached. Your edits are kept and sent when it is back.'}
        </span>
      ) : connection.silent ? (
        <span className="status-alarm" role="status">
          <Icon name="warning" size={12} />
          The session does not answer; it may be busy. Your edits are kept.
        </span>
      ) : (
        <span title="Where previews run">{info.device || 'connected'}</span>
      )}
      {pending && connected && <span className="muted">sending…</span>}
      <span>batch of {formatValue(pipeline['batch_size'])}</span>
      <span>
        {count} node{count === 1 ? '' : 's'}
        {selected > 1 ? `, ${selected} selected` : ''}
      </span>
      {preview.progress ? (
        <span className="status-progress">
          <progress max={preview.progress.total} value={preview.progress.done} aria-label="Preview" />
          {preview.progress.node ?? 'preview'}
        </span>
      ) : (
        preview.total !== null && (
          <span title="Time of the last preview">preview {formatTime(preview.total)}</span>
        )
      )}
      {preview.error && <span className="status-error">{preview.error}</span>}
      <span className="spring" />
      {run ? (
        <span className="status-progress" role="status">
          <progress max={run.total} value={run.done} aria-label="Run" />
          {run.rate !== null && `${Math.round(run.rate)} images/s`}
        </span>
      ) : (
        last && (
          <span title={`${last.batches} batches in ${last.seconds.toFixed(2)} s`} data-testid="rate">
            {Math.round(last.images_per_second).toLocaleString('en')} images/s
          </span>
        )
      )}
      {gpuMemory && (
        <span title={gpuMemory.title} data-testid="gpu-memory">
          {gpuMemory.text}
        </span>
      )}
      {moved.count > 0 && (
        <span title="What goes between CPU and GPU with each batch" data-testid="transfers">
          {moved.count} transfer{moved.count > 1 ? 's' : ''}
          {moved.bytes > 0 ? `, ${formatBytes(moved.bytes)}` : ''}
        </span>
      )}
      {errors + warnings > 0 && (
        <button
          type="button"
          className="status-problems"
          data-command="next-problem"
          onClick={() => nextProblem(editor)}
          title="Go to the next one (F8)"
        >
          <Icon name="warning" size={12} />
          {errors > 0 ? `${errors} error${errors > 1 ? 's' : ''}` : ''}
          {errors > 0 && warnings > 0 ? ', ' : ''}
          {warnings > 0 ? `${warnings} warning${warnings > 1 ? 's' : ''}` : ''}
        </button>
      )}
      {info.version && <span className="muted">DALI Lab {info.version}</span>}
    </div>
  );
}
