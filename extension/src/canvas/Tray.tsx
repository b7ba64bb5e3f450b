/** The tray: the batch of the selected node at a size to judge by; compared with its input, or one sample through all nodes. */
import { useEffect, useState, type CSSProperties } from 'react';
import { outputsOf } from '../core/catalogue';
import { execute } from '../core/commands';
import { asNumber, formatNumber, describeBatch, describeType } from '../core/values';
import type { TrayState } from '../core/editor';
import type { OutputResult } from '../core/previews';
import { useEditor, useOperator, useNode, useResult, useValue } from './context';
import { Histogram } from './plots';
import { Compare, Versions } from './Compare';
import { Numbers } from './dataset/Numbers';
import { PinnedNote } from './dataset/PinnedNote';
import { playable, Player } from './Player';
import { Sweep } from './Sweep';
import { Batch, Follow, useFocus } from './TrayViews';
import { beforeFocus } from '../core/focus';
import { msg, t } from '../core/language';
import { Choices, IconButton } from './controls/buttons';
import './Tray.css';

export function Tray() {
  const editor = useEditor();
  useValue(editor.selection);
  useValue(editor.document, ({ outputs }) => outputs);
  const id = editor.trayNode;
  return (
    <section className="tray panel stack" data-testid="tray" aria-label={t('Batch of the selected node')}>
      {id === null ? (
        <div className="tray-empty line muted">
          {t('Select a node to see its batch here.')}
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
    <IconButton
      icon="close"
      label={t('Close the tray')}
      large
      onClick={() => execute(editor, 'toggle-tray')}
    />
  );
}

const MODES: [TrayState['mode'], string, string][] = [
  ['batch', msg('Batch'), msg('All samples of this node')],
  ['play', msg('Play'), msg('One clip, volume or sound of the batch, played')],
  ['compare', msg('Compare'), msg('Before and after, with a slider between')],
  ['follow', msg('Follow'), msg('One sample through all nodes before this one')],
  ['sweep', msg('Sweep'), msg('One argument at several values')],
  ['numbers', msg('Numbers'), msg('Sizes, means, draws and labels over a thousand samples')],
  ['versions', msg('Versions'), msg('This graph and an earlier one, with a slider between')],
];

/** A batch in words: how much of what, of which type, in which range. */
function factsOf(output: OutputResult): string[] {
  const type = describeType(output);
  const [low, high] = (output.range ?? []).map((bound) => formatNumber(asNumber(bound) ?? NaN));
  const range = low !== undefined && high !== undefined ? [t('%1 to %2', low, high)] : [];
  return [describeBatch(output), type, ...range];
}

function NodeTray({ id }: { id: string }) {
  const editor = useEditor();
  const node = useNode(id);
  const operator = useOperator(node?.op);
  const declared = outputsOf(operator, node);
  const result = useResult(id);
  const tray = useValue(editor.tray);
  const capabilities = useValue(editor.session, (session) => session.capabilities);
  const output = result?.outputs[tray.output];
  const focus = useFocus({ node: id, output: tray.output });
  const set = (change: Partial<TrayState>): void => editor.tray.patch({ ...change });
  const modes = MODES.filter(
    ([each]) =>
      (each !== 'play' || playable(output) !== null) &&
      (each !== 'sweep' || capabilities.sweep) &&
      (each !== 'versions' || capabilities.compare) &&
      (each !== 'numbers' || capabilities.dataset),
  );
  const impossible =
    (tray.mode === 'compare' && !beforeFocus(editor.history.document, id)) ||
    (tray.mode === 'play' && playable(output) === null);
  const mode = impossible ? 'batch' : tray.mode;
  return (
    <>
      <div className="tray-head line">
        <strong className="tray-name">{id}</strong>
        {declared.length > 1 && (
          <Choices
            label={t('Output')}
            value={tray.output}
            choices={declared.map(({ name }, value) => ({ value, text: name }))}
            onChange={(output) => set({ output })}
          />
        )}
        <Choices
          label={t('View')}
          value={mode}
          choices={modes.map(([value, text, title]) => ({ value, text: t(text), title: t(title) }))}
          onChange={(mode) => set({ mode })}
        />
        {output && (
          <span className="tray-facts whole-parts muted" title={factsOf(output).join(' · ')}>
            {factsOf(output).map((fact) => (
              <span className="ellipsis" key={fact}>
                {fact}
              </span>
            ))}
          </span>
        )}
        {output?.histogram && output.histogram.length > 0 && (
          <Histogram counts={output.histogram} width={96} height={20} />
        )}
        <span className="spring" />
        <PinnedNote />
        {mode === 'batch' && (focus?.overlays.length ?? 0) > 0 && (
          <label className="check muted">
            <input
              type="checkbox"
              data-testid="overlays"
              checked={tray.overlays}
              onChange={(event) => set({ overlays: event.target.checked })}
            />
            {focus?.overlays.map(({ kind }) => kind).join(', ')}
          </label>
        )}
        <label className="size-slider">
          <span className="visually-hidden">{t('Size of the pictures')}</span>
          <input
            type="range"
            min={96}
            max={480}
            step={8}
            value={tray.size}
            title={t('Size of the pictures')}
            onChange={(event) => set({ size: Number(event.target.value) })}
          />
        </label>
        <CloseTray />
      </div>
      <div
        className={`tray-body ${mode}`}
        role="group"
        aria-label={t('Samples')}
        tabIndex={0}
        style={{ '--size': `${tray.size}px`, '--sheet-size': `${tray.size / 2}px` } as CSSProperties}
      >
        {mode === 'batch' && <Batch id={id} output={output} index={tray.output} />}
        {mode === 'play' && output && (
          <Player key={`${id}:${tray.output}`} id={id} index={tray.output} output={output} />
        )}
        {mode === 'compare' && <Compare id={id} index={tray.output} />}
        {mode === 'follow' && <Follow id={id} sample={tray.sample} count={output?.images.length ?? 1} />}
        {mode === 'versions' && <Versions id={id} index={tray.output} />}
        {mode === 'numbers' && <Numbers id={id} output={tray.output} />}
        {mode === 'sweep' && <Sweep id={id} sample={tray.sample} />}
      </div>
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
      aria-label={t('Height of the tray')}
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
