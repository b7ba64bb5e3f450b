/** A node on the canvas: title, placement, the arguments that matter, thumbnails, time and error. */
import { Handle, Position, useStore, useUpdateNodeInternals, type NodeProps } from '@xyflow/react';
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { rename, setDevice } from '../core/actions';
import type { ArgumentDeclaration, Operator } from '../core/catalogue';
import { inputAt, inputCount } from '../core/connect';
import { formatEdge, type Device, type GraphNode } from '../core/document';
import { cutMiddle, formatDtype, formatShape, formatTime } from '../core/values';
import { useEditor, useNode, useNodeView, useOperator, useResult, useValue } from './context';
import { ArgumentRow } from './controls/ArgumentRow';
import { FamilyIcon } from './icons';
import { Menu } from './Menu';
import { Thumbs } from './Thumbs';

/** Below this zoom a node is a thumbnail and a name. */
export const FAR_ZOOM = 0.42;

const DEVICE_WORDS: Record<Device, string> = { cpu: 'CPU', gpu: 'GPU', mixed: 'Mixed' };

/** The arguments a card shows: the important ones, and those that are connected. */
export function cardArguments(operator: Operator | undefined, node: GraphNode): ArgumentDeclaration[] {
  const all = operator?.arguments ?? [];
  let shown = all.filter(({ important }) => important).slice(0, 4);
  if (shown.length === 0) shown = all.filter(({ advanced, required }) => required && !advanced).slice(0, 4);
  const linked = Object.keys(node.connections ?? {})
    .filter((name) => !shown.some((argument) => argument.name === name))
    .map(
      (name) =>
        all.find((argument) => argument.name === name) ?? { name, type: 'any' as const, tensor: true },
    );
  return [...shown, ...linked];
}

export const NodeCard = memo(function NodeCard({ id, selected, dragging }: NodeProps) {
  const editor = useEditor();
  const node = useNode(id);
  const view = useNodeView(id);
  const operator = useOperator(node?.op);
  const result = useResult(id);
  const far = useStore((state) => state.transform[2] < FAR_ZOOM);
  const catalogue = useValue(editor.catalogue);
  const problem = useValue(editor.problems, (problems) =>
    problems.find((each) => each.node === id && each.severity === 'error'),
  );
  const working = useValue(editor.previews.status, ({ progress }) => progress?.node === id);
  const outputs = useValue(editor.document, (document) => document.outputs);
  const card = useRef<HTMLDivElement>(null);
  const height = useRef<number | undefined>(undefined);
  const updateInternals = useUpdateNodeInternals();

  const collapsed = view?.collapsed ?? false;
  const shown = useMemo(
    () => (node && !collapsed ? cardArguments(operator, node) : []),
    [node, operator, collapsed],
  );
  const hiddenLinks = collapsed ? Object.keys(node?.connections ?? {}) : [];
  const inputs = inputCount(operator, node?.inputs?.length ?? 0) || (node?.inputs?.length ?? 0);
  const outputCount = Math.max(operator?.outputs.length ?? 1, 1);
  const ports = `${inputs}/${outputCount}/${shown.map(({ name }) => name).join()}/${hiddenLinks.join()}/${collapsed}`;
  useEffect(() => updateInternals(id), [ports, id, updateInternals]);
  useLayoutEffect(() => {
    if (!far && card.current) height.current = card.current.offsetHeight;
  });

  if (!node) return null;
  const failure = result?.error?.message ?? problem?.message;
  const errorArgument = result?.error?.argument ?? problem?.argument;
  const state = failure
    ? 'error'
    : result?.skipped
      ? 'skipped'
      : result?.stale
        ? 'stale'
        : result && result.outputs.length > 0
          ? 'ok'
          : 'empty';
  const simplePorts = inputs <= 1 && outputCount <= 1;
  const marks = Array.from({ length: outputCount }, (_, output) =>
    outputs.indexOf(formatEdge({ node: id, output })),
  );

  return (
    <div
      ref={card}
      className={`card ${selected ? 'selected' : ''} ${dragging ? 'dragging' : ''} ${far ? 'far' : ''} ${collapsed ? 'collapsed' : ''} ${view?.bypass ? 'bypassed' : ''} ${failure ? 'failed' : ''}`}
      style={
        {
          '--family': catalogue?.color(operator?.family),
          minHeight: far ? height.current : undefined,
        } as React.CSSProperties
      }
      data-node-id={id}
      data-op={node.op}
      data-selected={selected}
      data-state={state}
      aria-label={`${id}, ${operator?.title ?? node.op}`}
    >
      {working && <span className="card-progress" aria-label="at work" />}
      <header className="card-header">
        {simplePorts && inputs === 1 && (
          <Port id="in:0" type="target" kind={operator?.inputs[0]?.kind} label={portLabel(operator, 0)} />
        )}
        <FamilyIcon
          family={operator?.family ?? 'plain'}
          color={catalogue?.color(operator?.family) ?? 'gray'}
        />
        <Title id={id} op={node.op} />
        {view?.bypass && <span className="chip">bypassed</span>}
        {marks[0] !== undefined && marks[0] >= 0 && simplePorts && (
          <span className="chip output" title={`Output ${marks[0] + 1} of the pipeline`}>
            out{outputs.length > 1 ? ` ${marks[0] + 1}` : ''}
          </span>
        )}
        <DeviceMark id={id} node={node} operator={operator} />
        {simplePorts && (
          <Port
            id="out:0"
            type="source"
            kind={operator?.outputs[0]?.kind}
            label={operator?.outputs[0]?.name ?? 'output'}
          />
        )}
      </header>
      {!simplePorts && (
        <div className="ports">
          {Array.from({ length: Math.max(inputs, outputCount) }, (_, index) => {
            const input = index < inputs ? inputAt(operator, index) : undefined;
            const output = operator?.outputs[index];
            const mark = marks[index] ?? -1;
            return (
              <div className="port-row" key={index}>
                {index < inputs && (
                  <>
                    <Port
                      id={`in:${index}`}
                      type="target"
                      kind={input?.kind}
                      label={portLabel(operator, index)}
                    />
                    <span className="port-name">
                      {input?.name ?? `input ${index}`}
                      {input?.optional && <span className="muted"> optional</span>}
                    </span>
                  </>
                )}
                {index < outputCount && (
                  <>
                    <span className="port-name right">
                      {mark >= 0 && (
                        <span className="chip output" title={`Output ${mark + 1} of the pipeline`}>
                          out{outputs.length > 1 ? ` ${mark + 1}` : ''}
                        </span>
                      )}
                      {output?.name ?? `output ${index}`}
                    </span>
                    <Port
                      id={`out:${index}`}
                      type="source"
                      kind={output?.kind}
                      label={output?.name ?? `output ${index}`}
                    />
                  </>
                )}
              </div>
            );
          })}
        </div>
      )}
      {hiddenLinks.map((name) => (
        <Port key={name} id={`arg:${name}`} type="target" kind="tensor" label={name} argument />
      ))}
      {far
        ? shown
            .filter(({ name }) => node.connections?.[name] !== undefined)
            .map(({ name }) => (
              <Port key={name} id={`arg:${name}`} type="target" kind="tensor" label={name} argument />
            ))
        : shown.length > 0 && (
            <div className="card-arguments">
              {shown.map((argument) => (
                <div className="card-argument" key={argument.name}>
                  {argument.tensor && (
                    <Port
                      id={`arg:${argument.name}`}
                      type="target"
                      kind="tensor"
                      label={argument.name}
                      argument
                      used={node.connections?.[argument.name] !== undefined}
                    />
                  )}
                  <ArgumentRow id={id} node={node} argument={argument} compact />
                </div>
              ))}
            </div>
          )}
      <CardBody id={id} far={far} collapsed={collapsed} />
      {failure && !far && (
        <div className="card-error" data-testid="node-error">
          <span>{failure}</span>
          {result?.error?.file && <span className="error-file">{cutMiddle(result.error.file, 40)}</span>}
          {errorArgument && (
            <button
              type="button"
              className="link-button nodrag"
              onClick={(event) => {
                event.stopPropagation();
                editor.select([id]);
                editor.panels.update((panels) => ({ ...panels, inspector: true }));
                editor.attention.set({ node: id, argument: errorArgument });
              }}
            >
              Go to {errorArgument}
            </button>
          )}
        </div>
      )}
      {!failure && result?.skipped && !far && !collapsed && (
        <div className="card-note">{result.skipped.message}</div>
      )}
      {!far && !collapsed && <Foot id={id} />}
    </div>
  );
});

function portLabel(operator: Operator | undefined, index: number): string {
  return inputAt(operator, index)?.name ?? `input ${index}`;
}

interface PortProperties {
  id: string;
  type: 'source' | 'target';
  kind: string | undefined;
  label: string;
  argument?: boolean;
  used?: boolean;
}

function Port({ id, type, kind = 'any', label, argument = false, used = true }: PortProperties) {
  return (
    <Handle
      id={id}
      type={type}
      position={type === 'source' ? Position.Right : Position.Left}
      className={`port kind-${kind} ${argument ? 'argument-port' : ''} ${used ? '' : 'unused'}`}
      data-port={id}
      title={argument ? `${label}: connect one value per sample` : label}
      aria-label={`${type === 'source' ? 'Output' : argument ? 'Argument' : 'Input'} ${label}`}
    />
  );
}

function Title({ id, op }: { id: string; op: string }) {
  const editor = useEditor();
  const renaming = useValue(editor.renaming, (current) => current === id);
  const short = op.slice(op.lastIndexOf('.') + 1);
  const plain = id === op || id.replace(/_\d+$/, '') === short;
  if (renaming) {
    return (
      <input
        className="title-input nodrag"
        aria-label="Name"
        defaultValue={id}
        autoFocus
        spellCheck={false}
        onFocus={(event) => event.target.select()}
        onBlur={(event) => {
          if (editor.renaming.get() !== id) return;
          editor.renaming.set(null);
          rename(editor, id, event.target.value);
        }}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === 'Escape') editor.renaming.set(null);
          if (event.key === 'Enter' && rename(editor, id, event.currentTarget.value)) {
            editor.renaming.set(null);
            editor.canvas?.focus();
          }
        }}
      />
    );
  }
  return (
    <span
      className="card-title"
      title={plain ? `${id} (${op})` : `${id}: ${op}`}
      onDoubleClick={(event) => {
        event.stopPropagation();
        editor.renaming.set(id);
      }}
    >
      {cutMiddle(id, 24)}
    </span>
  );
}

function DeviceMark({ id, node, operator }: { id: string; node: GraphNode; operator: Operator | undefined }) {
  const editor = useEditor();
  const [at, setAt] = useState<DOMRect | null>(null);
  const device = node.device ?? 'cpu';
  const choices = operator?.devices ?? [device];
  const words: Record<Device, string> = {
    cpu: 'Runs on the CPU',
    gpu: 'Runs on the GPU',
    mixed: 'Starts on the CPU and ends on the GPU',
  };
  return (
    <>
      <button
        type="button"
        className={`device device-${device} nodrag`}
        title={words[device]}
        aria-label={`Placement: ${DEVICE_WORDS[device]}`}
        aria-haspopup="menu"
        tabIndex={-1}
        onClick={(event) => {
          event.stopPropagation();
          setAt(event.currentTarget.getBoundingClientRect());
        }}
      >
        {DEVICE_WORDS[device]}
      </button>
      {at && (
        <Menu
          anchor={at}
          label="Placement"
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
function CardBody({ id, far, collapsed }: { id: string; far: boolean; collapsed: boolean }) {
  const editor = useEditor();
  const result = useResult(id);
  const samples = useValue(editor.samples);
  const onSample = useCallback(
    (sample: number, follow: boolean) => {
      editor.tray.update((tray) => ({ ...tray, sample, mode: follow ? 'follow' : tray.mode }));
      if (follow) editor.panels.update((panels) => ({ ...panels, tray: true }));
    },
    [editor],
  );
  const onHover = useCallback((sample: number | null) => editor.hoverSample.set(sample), [editor]);
  const outputs = result?.outputs ?? [];
  const first = outputs.find(({ images }) => images.some(Boolean)) ?? outputs[0];
  if (far || collapsed) {
    const image = first?.images[0];
    return (
      <div className="card-glance">
        {image ? (
          <img src={image.url} alt="" draggable={false} data-node={id} data-sample={0} />
        ) : (
          <span className="thumb-text">{first?.values?.[0] ?? ''}</span>
        )}
      </div>
    );
  }
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

function Foot({ id }: { id: string }) {
  const editor = useEditor();
  const result = useResult(id);
  const rate = useValue(editor.lastRun, (run) => run?.nodes[id]?.images_per_second);
  const output = result?.outputs[0];
  if (!result || (!output && result.time === null)) return null;
  return (
    <footer className="card-foot">
      <span className="foot-shape">
        {output
          ? `${formatShape(output.shapes, output.batch)} ${formatDtype(output.dtype)} ${output.layout}`
          : ''}
      </span>
      {rate !== undefined && (
        <span className="foot-rate" title="Images per second in the last run">
          {rate >= 1000 ? `${(rate / 1000).toFixed(1)}k` : Math.round(rate)}/s
        </span>
      )}
      {result.time !== null && (
        <span
          className="foot-time"
          title={result.cached ? 'Time when it was made; now from the cache' : 'Time in this preview'}
        >
          {formatTime(result.time)}
        </span>
      )}
    </footer>
  );
}
