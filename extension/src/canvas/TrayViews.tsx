/** The tray's views of a node: its batch, or one sample through all nodes before it. */
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { lineage, type OutputRef } from '../core/document';
import { TRAY_SAMPLES } from '../core/focus';
import type { Picture } from '../core/pictures';
import type { FocusResult, OutputResult } from '../core/previews';
import { formatBytes } from '../core/values';
import { useEditor, useResult, useValue } from './context';
import { FileName } from './FileName';
import { Choices } from './controls/buttons';
import { Overlays } from './Overlays';
import { t } from '../core/language';
import './TrayViews.css';

export function useFocus(reference: OutputRef | null): FocusResult | undefined {
  const editor = useEditor();
  useValue(editor.previews.version);
  useResult(reference?.node ?? '');
  return reference ? editor.previews.focus(reference.node, reference.output) : undefined;
}

/** The large pictures where they are there, thumbnails until then. */
export function bestPictures(
  focus: FocusResult | undefined,
  output: OutputResult | undefined,
): (Picture | null)[] {
  const small = output?.images ?? [];
  const large = focus?.images ?? [];
  return Array.from(
    { length: Math.max(small.length, large.length) },
    (_, index) => large[index] ?? small[index] ?? null,
  );
}

/** The extent of a sample in words: the bytes of a file, else a shape. */
function extentOf(output: OutputResult | undefined, sample: number): string | undefined {
  const shape = output?.shapes[sample];
  const bytes = shape?.[0];
  return output?.kind === 'encoded' && bytes !== undefined ? formatBytes(bytes) : shape?.join('×');
}

export function Caption({ output, sample }: { output: OutputResult | undefined; sample: number }) {
  const [label, file, extent] = [output?.labels?.[sample], output?.files?.[sample], extentOf(output, sample)];
  return (
    <figcaption className="whole-parts" title={[label, file, extent].filter(Boolean).join(' · ')}>
      <span className="sample-name">
        <strong className="sample-number">{sample + 1}</strong>
        {label && <span className="ellipsis">{label}</span>}
        {file && <FileName name={file} />}
      </span>
      {extent && <span className="ellipsis">{extent}</span>}
    </figcaption>
  );
}

export function Batch({
  id,
  output,
  index,
}: {
  id: string;
  output: OutputResult | undefined;
  index: number;
}) {
  const editor = useEditor();
  const focus = useFocus({ node: id, output: index });
  const result = useResult(id);
  const overlays = useValue(editor.tray, (tray) => tray.overlays);
  const reveal = useValue(editor.tray, (tray) => tray.reveal);
  const shown = useCallback(
    (element: HTMLElement | null) => {
      if (!element) return;
      element.scrollIntoView({ block: 'nearest' });
      editor.tray.patch({ reveal: null });
    },
    [editor],
  );
  const pictures = bestPictures(focus, output);
  const count = Math.max(pictures.length, output?.values?.length ?? 0);
  if (count === 0)
    return (
      <p className="muted hint">
        {result?.error?.message ?? result?.skipped?.message ?? t('No preview yet.')}
      </p>
    );
  return (
    <>
      {Array.from({ length: count }, (_, sample) => (
        <figure
          key={sample}
          ref={sample === reveal ? shown : undefined}
          className={`sample stack ${result?.stale ? 'stale' : ''}`}
          data-sample={sample}
          onPointerEnter={() => editor.view.patch({ hoverSample: sample })}
          onPointerLeave={() => editor.view.patch({ hoverSample: null })}
          onDoubleClick={() => editor.tray.patch({ sample, mode: 'follow' })}
        >
          {pictures[sample] ? (
            <div className="pictured">
              <img
                src={pictures[sample].url}
                alt={t('Sample %1 of %2', sample + 1, id)}
                data-focus-sample={sample}
                draggable={false}
              />
              {overlays && <Overlays focus={focus} sample={sample} picture={pictures[sample]} />}
            </div>
          ) : (
            <pre className={`sample-text ${output?.lost?.[sample] == null ? '' : 'lost'}`}>
              {output?.lost?.[sample] ?? output?.values?.[sample] ?? ''}
            </pre>
          )}
          <Caption output={output} sample={sample} />
        </figure>
      ))}
      <More count={count} batch={output?.batch ?? 0} />
    </>
  );
}

/** The rest of the batch: shown by a press, or when the tray is scrolled to its end. */
function More({ count, batch }: { count: number; batch: number }) {
  const editor = useEditor();
  const end = useRef<HTMLButtonElement>(null);
  const more = useCallback(
    () => editor.batch.update((state) => ({ ...state, seen: Math.min(batch, count + TRAY_SAMPLES) })),
    [editor, batch, count],
  );
  const left = batch > count;
  useEffect(() => {
    const body = end.current?.closest('.tray-body');
    if (!left || !body) return;
    const onScroll = (): void => {
      if (body.scrollTop > 0 && body.scrollTop + body.clientHeight >= body.scrollHeight - 8) more();
    };
    body.addEventListener('scroll', onScroll);
    return () => body.removeEventListener('scroll', onScroll);
  }, [left, more]);
  if (!left) return <NextBatch />;
  return (
    <button ref={end} type="button" className="more-samples muted" data-testid="more-samples" onClick={more}>
      {t('%1 of %2 samples', count, batch)}
      <strong>{t('Show more')}</strong>
    </button>
  );
}

/** At the end of the batch: on to the next one, through the whole dataset. */
function NextBatch() {
  const editor = useEditor();
  const { iteration, pins } = useValue(editor.batch);
  const step = (by: number) => () => {
    editor.batch.update((batch) => ({ ...batch, iteration: Math.max(0, batch.iteration + by) }));
  };
  if (pins) return null;
  return (
    <div className="next-batch stack muted">
      <button type="button" className="more-samples" data-testid="next-batch" onClick={step(1)}>
        {t('End of batch %1', iteration + 1)}
        <strong>{t('Next batch')}</strong>
      </button>
      {iteration > 0 && (
        <button type="button" className="button" data-testid="batch-before" onClick={step(-1)}>
          {t('Batch before')}
        </button>
      )}
    </div>
  );
}

/** Chooses the sample of views that show one. */
export function SampleChoice({ sample, count }: { sample: number; count: number }) {
  const editor = useEditor();
  return (
    <div className="follow-choice stack">
      <span className="muted">{t('Sample')}</span>
      <Choices
        label={t('Sample')}
        className="vertical"
        value={sample}
        choices={Array.from({ length: Math.max(1, count) }, (_, value) => ({ value, text: value + 1 }))}
        onChange={(chosen) => editor.tray.patch({ sample: chosen })}
      />
    </div>
  );
}

/** One sample through everything that it went through, in order. */
export function Follow({ id, sample, count }: { id: string; sample: number; count: number }) {
  const editor = useEditor();
  const document = useValue(editor.document);
  useValue(editor.previews.version);
  const order = useMemo(() => lineage(document, id), [document, id]);
  return (
    <>
      <SampleChoice sample={sample} count={count} />
      {order.map((node) => {
        const result = editor.previews.result(node);
        const output = result?.outputs[0];
        const picture = editor.previews.focus(node, 0)?.images[sample] ?? output?.images[sample];
        return (
          <figure
            key={node}
            className={`sample stack followed ${node === id ? 'current' : ''} ${result?.stale ? 'stale' : ''}`}
            onClick={() => editor.canvas?.focusNode(node)}
          >
            {picture ? (
              <img src={picture.url} alt={t('Sample %1 at %2', sample + 1, node)} draggable={false} />
            ) : (
              <pre className="sample-text">{output?.values?.[sample] ?? '–'}</pre>
            )}
            <figcaption>
              <strong>{node}</strong> {extentOf(output, sample)}
            </figcaption>
          </figure>
        );
      })}
    </>
  );
}
