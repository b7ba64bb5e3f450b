/** The parts of a node's card: title, placement, thumbnails, error, foot; each draws itself again alone. */
import { useCallback, useState } from 'react';
import { rename, setDevice } from '../core/actions';
import type { Operator } from '../core/catalogue';
import type { Device, GraphNode } from '../core/document';
import { showPanel } from '../core/folding';
import { DEVICES } from '../core/placement';
import { gpuTimeFigure, rateFigure } from '../core/runs';
import { cutMiddle, describeBatch, describeType, formatTime } from '../core/values';
import { AllowButton } from './AllowButton';
import { useEditor, useResult, useValue } from './context';
import { Menu } from './Menu';
import { TitleField } from './TitleField';
import { Thumbs } from './Thumbs';
import { t } from '../core/language';
import './NodeParts.css';

export function Title({ id, op }: { id: string; op: string }) {
  const editor = useEditor();
  const renaming = useValue(editor.prompts, ({ renaming: current }) => current === id);
  const short = op.slice(op.lastIndexOf('.') + 1);
  const plain = id === op || id.replace(/_\d+$/, '') === short;
  if (renaming)
    return <TitleField of={id} label={t('Name')} value={id} commit={(name) => rename(editor, id, name)} />;
  return (
    <span
      className="card-title ellipsis"
      title={plain ? `${id} (${op})` : `${id}: ${op}`}
      onDoubleClick={(event) => {
        event.stopPropagation();
        editor.prompts.patch({ renaming: id });
      }}
    >
      {cutMiddle(id, 24)}
    </span>
  );
}

export function DeviceMark({
  id,
  node,
  operator,
}: {
  id: string;
  node: GraphNode;
  operator: Operator | undefined;
}) {
  const editor = useEditor();
  const [at, setAt] = useState<DOMRect | null>(null);
  const device = node.device ?? 'cpu';
  const choices = operator?.devices ?? [device];
  const words: Record<Device, string> = {
    cpu: t('Runs on the CPU'),
    gpu: t('Runs on the GPU'),
    mixed: t('Starts on the CPU and ends on the GPU'),
  };
  return (
    <>
      <button
        type="button"
        className={`device device-${device} nodrag`}
        title={words[device]}
        aria-label={t('Placement: %1', t(DEVICES[device]))}
        aria-haspopup="menu"
        tabIndex={-1}
        onClick={(event) => {
          event.stopPropagation();
          setAt(event.currentTarget.getBoundingClientRect());
        }}
      >
        {t(DEVICES[device])}
      </button>
      {at && (
        <Menu
          anchor={at}
          label={t('Placement')}
          onClose={() => setAt(null)}
          items={choices.map((choice) => ({
            id: choice,
            label: words[choice],
            checked: choice === device,
            run: () => setDevice(editor, [id], choice),
          }))}
        />
      )}
    </>
  );
}

/** The thumbnails; apart from the card, so that a new preview draws nothing else. */
export function CardBody({ id }: { id: string }) {
  const editor = useEditor();
  const result = useResult(id);
  const samples = useValue(editor.batch, ({ samples }) => samples);
  const onSample = useCallback(
    (sample: number, follow: boolean) => {
      editor.tray.update((tray) => ({ ...tray, sample, mode: follow ? 'follow' : tray.mode }));
      if (follow) showPanel(editor, 'tray');
    },
    [editor],
  );
  const onHover = useCallback(
    (sample: number | null) => editor.view.patch({ hoverSample: sample }),
    [editor],
  );
  const outputs = result?.outputs ?? [];
  const first = outputs.find(({ images }) => images.some(Boolean)) ?? outputs[0];
  if (!first) return <div className="thumbs empty" />;
  const rest = outputs
    .filter((output) => output !== first && (output.values ?? []).some(Boolean))
    .slice(0, 2);
  return (
    <>
      <Thumbs
        node={id}
        output={first}
        count={samples}
        stale={result?.stale ?? false}
        onSample={onSample}
        onHover={onHover}
      />
      {rest.map((output, index) => (
        <Thumbs
          key={index}
          node={id}
          output={output}
          count={samples}
          stale={result?.stale ?? false}
          onSample={onSample}
          onHover={onHover}
        />
      ))}
    </>
  );
}

export function Foot({ id }: { id: string }) {
  const editor = useEditor();
  const result = useResult(id);
  const run = useValue(editor.jobs, ({ lastRun: last }) => last?.nodes[id]);
  const [rate, gpuTime] = [rateFigure(run), gpuTimeFigure(run)];
  const output = result?.outputs[0];
  if (!result || (!output && result.time === null)) return null;
  const shape = output ? describeBatch(output) : '';
  const type = output ? describeType(output) : '';
  // Files are bytes, and pictures usually uint8 HWC.
  const usual = type === 'uint8 HWC' || output?.kind === 'encoded';
  return (
    <div className={`card-foot muted ${rate || gpuTime ? 'measured' : ''}`}>
      <span className="foot-output" title={`${shape} ${type}`}>
        {[...shape.split(/(?<=,) /), usual ? '' : type].filter(Boolean).map((part) => (
          <span key={part}>{part}</span>
        ))}
      </span>
      {rate && (
        <span className="foot-rate" title={t('Images per second in the last run')}>
          {rate}
        </span>
      )}
      {gpuTime && (
        <span className="foot-rate" title={gpuTime.title} data-testid="gpu-time">
          {gpuTime.text}
        </span>
      )}
      {result.time !== null && (
        <span
          className="foot-time"
          title={result.cached ? t('Time when it was made; now from the cache') : t('Time in this preview')}
        >
          {formatTime(result.time)}
        </span>
      )}
    </div>
  );
}

/** One picture: of a node that is far away, or collapsed. */
export function Glance({ id }: { id: string }) {
  const outputs = useResult(id)?.outputs ?? [];
  const first = outputs.find(({ images }) => images.some(Boolean)) ?? outputs[0];
  const image = first?.images[0];
  return (
    <div className="card-glance">
      {image ? (
        <img src={image.url} alt="" draggable={false} data-node={id} data-sample={0} />
      ) : (
        <span className="thumb-text ellipsis muted">{first?.values?.[0] ?? ''}</span>
      )}
    </div>
  );
}

/** A node's error with a link to the argument, or the node that it waits for. */
export function CardMessage({ id }: { id: string }) {
  const editor = useEditor();
  const result = useResult(id);
  const problem = useValue(editor.problems, (problems) =>
    problems.find((each) => each.node === id && each.severity === 'error'),
  );
  const lacking = useValue(editor.problems, (problems) =>
    problems.find((each) => each.node === id && each.severity === 'warning' && each.argument),
  );
  const message = result?.error?.message ?? problem?.message;
  const argument = result?.error?.argument ?? problem?.argument;
  const permission = problem?.permission;
  // The mark of a disabled node says all there is.
  const note = result?.skipped?.off && result.skipped.node === id ? null : result?.skipped;
  if (!message) {
    return note ? (
      <div className="card-note muted">
        <span>{note.message}</span>
        {lacking?.argument && <GoTo id={id} argument={lacking.argument} />}
      </div>
    ) : null;
  }
  return (
    <div className="card-error" data-testid="node-error">
      <span>{message}</span>
      {result?.error?.file && <span className="error-file muted">{cutMiddle(result.error.file, 40)}</span>}
      {permission && <AllowButton permission={permission} />}
      {argument && <GoTo id={id} argument={argument} />}
    </div>
  );
}

/** A link to an argument's row in the inspector. */
function GoTo({ id, argument }: { id: string; argument: string }) {
  const editor = useEditor();
  return (
    <button
      type="button"
      className="link-button nodrag"
      onClick={(event) => {
        event.stopPropagation();
        editor.select([id]);
        showPanel(editor, 'inspector');
        editor.prompts.patch({ attention: { node: id, argument } });
      }}
    >
      {t('Go to %1', argument)}
    </button>
  );
}
