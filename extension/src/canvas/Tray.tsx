/** The tray: the batch of the selected node at a size to judge by; compared with its input, or one sample through all nodes. */
import { useEffect, useMemo, useState, type CSSProperties, type PointerEvent } from 'react';
import { lineage, type OutputRef } from '../core/document';
import { execute } from '../core/commandTable';
import type { FocusResult, OutputResult, Picture } from '../core/previews';
import { asNumber, formatDtype, formatNumber, formatShape } from '../core/values';
import type { TrayState } from '../core/editor';
import { useEditor, useOperator, useNode, useResult, useValue } from './context';
import { Icon } from './icons';
import { Histogram } from './plots';
import { Sweep } from './Sweep';

export function Tray() {
  const editor = useEditor();
  useValue(editor.selection);
  useValue(editor.document, ({ outputs }) => outputs);
  const id = editor.trayNode;
  return (
    <section className="tray panel" data-testid="tray" aria-label="Batch of the selected node">
      {id === null ? (
        <div className="tray-empty muted">
          Select a node to see its batch here.
          <CloseTray />
        </div>
      ) : (
        <NodeTray id={id} />
      )}
    </section>
  );
}

function CloseTray() {
  const editor = useEditor();
  return (
    <button
      type="button"
      className="icon-button"
      title="Close the tray"
      aria-label="Close the tray"
      onClick={() => execute(editor, 'toggle-tray')}
    >
      <Icon name="close" size={14} />
    </button>
  );
}

const MODES: [TrayState['mode'], string, string][] = [
  ['batch', 'Batch', 'All samples of this node'],
  ['compare', 'Compare', 'Before and after, with a slider between'],
  ['follow', 'Follow', 'One sample through all nodes before this one'],
];

function NodeTray({ id }: { id: string }) {
  const editor = useEditor();
  const node = useNode(id);
  const operator = useOperator(node?.op);
  const result = useResult(id);
  const tray = useValue(editor.tray);
  const sweep = useValue(editor.info, (info) => info.capabilities.sweep === true);
  const output = result?.outputs[tray.output];
  const set = (change: Partial<TrayState>): void =>
    editor.tray.update((before) => ({ ...before, ...change }));
  const modes = sweep
    ? [...MODES, ['sweep', 'Sweep', 'One argument at several values'] as (typeof MODES)[number]]
    : MODES;
  const mode = tray.mode === 'compare' && !editor.beforeFocus(id) ? 'batch' : tray.mode;
  return (
    <>
      <div className="tray-head">
        <strong className="tray-name">{id}</strong>
        {(operator?.outputs.length ?? 1) > 1 && (
          <div className="segmented" role="radiogroup" aria-label="Output">
            {operator?.outputs.map(({ name }, index) => (
              <button
                key={name}
                type="button"
                role="radio"
                aria-checked={tray.output === index}
                onClick={() => set({ output: index })}
              >
                {name}
              </button>
            ))}
          </div>
        )}
        <div className="segmented" role="radiogroup" aria-label="View">
          {modes.map(([each, label, title]) => (
            <button
              key={each}
              type="button"
              role="radio"
              aria-checked={mode === each}
              title={title}
              onClick={() => set({ mode: each })}
            >
              {label}
            </button>
          ))}
        </div>
        {output && (
          <span className="tray-facts">
            {formatShape(output.shapes, output.batch)} {formatDtype(output.dtype)} {output.layout}
            {output.range && (
              <>
                {' · '}
                {formatNumber(asNumber(output.range[0]) ?? NaN)} to{' '}
                {formatNumber(asNumber(output.range[1]) ?? NaN)}
              </>
            )}
          </span>
        )}
        {output?.histogram && output.histogram.length > 0 && (
          <Histogram counts={output.histogram} width={96} height={20} />
        )}
        <span className="spring" />
        <label className="size-slider">
          <span className="visually-hidden">Size of the pictures</span>
          <input
            type="range"
            min={96}
            max={480}
            step={8}
            value={tray.size}
            title="Size of the pictures"
            onKeyDown={(event) => event.stopPropagation()}
            onChange={(event) => set({ size: Number(event.target.value) })}
          />
        </label>
        <CloseTray />
      </div>
      <div className={`tray-body ${mode}`} style={{ '--size': `${tray.size}px` } as CSSProperties}>
        {mode === 'batch' && <Batch id={id} output={output} index={tray.output} />}
        {mode === 'compare' && <Compare id={id} index={tray.output} />}
        {mode === 'follow' && <Follow id={id} sample={tray.sample} count={output?.images.length ?? 1} />}
        {mode === 'sweep' && <Sweep id={id} sample={tray.sample} />}
      </div>
    </>
  );
}

function useFocus(reference: OutputRef | null): FocusResult | undefined {
  const editor = useEditor();
  useValue(editor.previews.version);
  useResult(reference?.node ?? '');
  return reference ? editor.previews.focus(reference.node, reference.output) : undefined;
}

/** The large pictures where they are there, thumbnails until then. */
function bestPictures(focus: FocusResult | undefined, output: OutputResult | undefined): (Picture | null)[] {
  const small = output?.images ?? [];
  const large = focus?.images ?? [];
  return Array.from(
    { length: Math.max(small.length, large.length) },
    (_, index) => large[index] ?? small[index] ?? null,
  );
}

function Caption({ output, sample }: { output: OutputResult | undefined; sample: number }) {
  const shape = output?.shapes[sample];
  const parts = [output?.labels?.[sample], output?.files?.[sample], shape?.join('×')].filter(Boolean);
  return (
    <figcaption>
      <span className="sample-number">{sample + 1}</span>
      {parts.join(' · ')}
    </figcaption>
  );
}

function Batch({ id, output, index }: { id: string; output: OutputResult | undefined; index: number }) {
  const editor = useEditor();
  const focus = useFocus({ node: id, output: index });
  const pictures = bestPictures(focus, output);
  const count = Math.max(pictures.length, output?.values?.length ?? 0);
  if (count === 0) return <p className="muted hint">No preview yet.</p>;
  return (
    <>
      {Array.from({ length: count }, (_, sample) => (
        <figure
          key={sample}
          className="sample"
          data-sample={sample}
          onPointerEnter={() => editor.hoverSample.set(sample)}
          onPointerLeave={() => editor.hoverSample.set(null)}
          onDoubleClick={() => editor.tray.update((tray) => ({ ...tray, sample, mode: 'follow' }))}
        >
          {pictures[sample] ? (
            <img
              src={pictures[sample].url}
              alt={`Sample ${sample + 1} of ${id}`}
              data-focus-sample={sample}
              draggable={false}
            />
          ) : (
            <pre className="sample-text">{output?.values?.[sample] ?? ''}</pre>
          )}
          <Caption output={output} sample={sample} />
        </figure>
      ))}
    </>
  );
}

function Compare({ id, index }: { id: string; index: number }) {
  const editor = useEditor();
  const reference = editor.beforeFocus(id);
  const after = useFocus({ node: id, output: index });
  const before = useFocus(reference);
  const result = useResult(id);
  const source = useResult(reference?.node ?? '');
  const [split, setSplit] = useState(50);
  const top = bestPictures(after, result?.outputs[index]);
  const under = bestPictures(before, source?.outputs[reference?.output ?? 0]);
  const onMove = (event: PointerEvent<HTMLElement>): void => {
    if (event.type === 'pointermove' && event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    setSplit(Math.min(100, Math.max(0, ((event.clientX - box.left) / box.width) * 100)));
  };
  return (
    <>
      {top.map((picture, sample) => (
        <figure key={sample} className="sample">
          <div
            className="compare"
            role="slider"
            tabIndex={0}
            aria-label={`Before and after, sample ${sample + 1}`}
            aria-valuenow={Math.round(split)}
            style={{ '--split': `${split}%` } as CSSProperties}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId);
              onMove(event);
            }}
            onPointerMove={onMove}
            onKeyDown={(event) => {
              if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
              event.preventDefault();
              event.stopPropagation();
              setSplit(Math.min(100, Math.max(0, split + (event.key === 'ArrowLeft' ? -4 : 4))));
            }}
          >
            {under[sample] && (
              <img className="before" src={under[sample].url} alt={`Before ${id}`} draggable={false} />
            )}
            {picture && <img className="after" src={picture.url} alt={`After ${id}`} draggable={false} />}
            <span className="compare-line" />
            <span className="compare-word left">{reference?.node}</span>
            <span className="compare-word right">{id}</span>
          </div>
          <Caption output={result?.outputs[index]} sample={sample} />
        </figure>
      ))}
    </>
  );
}

/** One sample through everything that it went through, in order. */
function Follow({ id, sample, count }: { id: string; sample: number; count: number }) {
  const editor = useEditor();
  const document = useValue(editor.document);
  useValue(editor.previews.version);
  const order = useMemo(() => lineage(document, id), [document, id]);
  return (
    <>
      <div className="follow-choice">
        <span className="muted">Sample</span>
        <div className="segmented vertical" role="radiogroup" aria-label="Sample">
          {Array.from({ length: Math.max(1, count) }, (_, index) => (
            <button
              key={index}
              type="button"
              role="radio"
              aria-checked={index === sample}
              onClick={() => editor.tray.update((tray) => ({ ...tray, sample: index }))}
            >
              {index + 1}
            </button>
          ))}
        </div>
      </div>
      {order.map((node) => {
        const output = editor.previews.result(node)?.outputs[0];
        const picture = editor.previews.focus(node, 0)?.images[sample] ?? output?.images[sample];
        return (
          <figure
            key={node}
            className={`sample followed ${node === id ? 'current' : ''}`}
            onClick={() => editor.canvas?.focusNode(node)}
          >
            {picture ? (
              <img src={picture.url} alt={`Sample ${sample + 1} at ${node}`} draggable={false} />
            ) : (
              <pre className="sample-text">{output?.values?.[sample] ?? '–'}</pre>
            )}
            <figcaption>
              <strong>{node}</strong> {output?.shapes[sample]?.join('×')}
            </figcaption>
          </figure>
        );
      })}
    </>
  );
}

/** Remembers how high the tray is, and lets its upper edge be dragged. */
export function TrayHandle({ height, onHeight }: { height: number; onHeight: (height: number) => void }) {
  const [start, setStart] = useState<{ y: number; height: number } | null>(null);
  useEffect(() => {
    if (!start) return;
    const onMove = (event: globalThis.PointerEvent): void =>
      onHeight(Math.max(120, Math.min(640, start.height + start.y - event.clientY)));
    const onUp = (): void => setStart(null);
    window.addEventListener('pointermove', onMove);
    window.addEventListener('pointerup', onUp);
    return () => {
      window.removeEventListener('pointermove', onMove);
      window.removeEventListener('pointerup', onUp);
    };
  }, [start, onHeight]);
  return (
    <div
      className="tray-handle"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the tray"
      aria-valuenow={height}
      tabIndex={0}
      onPointerDown={(event) => {
        event.preventDefault();
        setStart({ y: event.clientY, height });
      }}
      onKeyDown={(event) => {
        if (event.key === 'ArrowUp') onHeight(height + 16);
        else if (event.key === 'ArrowDown') onHeight(Math.max(120, height - 16));
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}
