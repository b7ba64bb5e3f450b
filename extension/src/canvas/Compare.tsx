/** Pictures over pictures with a slider between: before and after a node, or two versions of the graph. */
import { useEffect, useMemo, useRef, useState } from 'react';
import type { GraphDocument } from '../core/document';
import { pictureOf, releasePictures, type Picture } from '../core/pictures';
import type { OutputResult } from '../core/previews';
import type { BatchState } from '../core/state';
import { useEditor, useResult, useValue } from './context';
import { useSplit } from '../pictures/useSplit';
import { Choice } from './controls/fields';
import { bestPictures, Caption, useFocus } from './TrayViews';
import { beforeFocus, computed, shownBatch } from '../core/focus';
import { t } from '../core/language';
import './Compare.css';

interface FiguresProperties {
  under: (Picture | null)[];
  over: (Picture | null)[];
  words: [string, string];
  output: OutputResult | undefined;
  stale: boolean;
}

function Figures({ under, over, words, output, stale }: FiguresProperties) {
  const slider = useSplit();
  return (
    <>
      {over.map((picture, sample) => (
        <figure key={sample} className={`sample stack ${stale ? 'stale' : ''}`}>
          <div
            className="compare"
            aria-label={t('%1 and %2, sample %3', words[0], words[1], sample + 1)}
            {...slider}
          >
            {under[sample] && (
              <img className="before" src={under[sample].url} alt={words[0]} draggable={false} />
            )}
            {picture && <img className="after" src={picture.url} alt={words[1]} draggable={false} />}
            <span className="compare-line" />
            <span className="compare-word ellipsis left">{words[0]}</span>
            <span className="compare-word ellipsis right">{words[1]}</span>
          </div>
          <Caption output={output} sample={sample} />
        </figure>
      ))}
    </>
  );
}

/** Before and after one node. */
export function Compare({ id, index }: { id: string; index: number }) {
  const editor = useEditor();
  const reference = beforeFocus(editor.history.document, id);
  const after = useFocus({ node: id, output: index });
  const before = useFocus(reference);
  const result = useResult(id);
  const output = result?.outputs[index];
  const source = useResult(reference?.node ?? '')?.outputs[reference?.output ?? 0];
  // While a new folder or batch is computed, one of the two is still of the samples before.
  const same = (sample: number): boolean => source?.files?.[sample] === output?.files?.[sample];
  return (
    <Figures
      under={bestPictures(before, source).map((picture, sample) => (same(sample) ? picture : null))}
      over={bestPictures(after, output)}
      words={[reference?.node ?? '', id]}
      output={output}
      stale={result?.stale ?? false}
    />
  );
}

/** Pictures, and what they are of. */
interface Found {
  pictures: (Picture | null)[];
  document?: GraphDocument;
  id?: string;
  index?: number;
  iteration?: number;
  pins?: BatchState['pins'];
}

const NOTHING: Found = { pictures: [] };

/** The pictures of a node in another version of the graph, on the same samples. */
function useOtherVersion(document: GraphDocument, id: string, index: number): (Picture | null)[] {
  const editor = useEditor();
  const iteration = useValue(editor.batch, (batch) => batch.iteration);
  const pins = useValue(editor.batch, (batch) => batch.pins);
  const samples = useValue(editor.batch, computed);
  const size = useValue(editor.tray, (tray) => tray.size);
  const [found, setFound] = useState<Found>(NOTHING);
  const shown = useRef<(Picture | null)[]>([]);
  useEffect(() => {
    let current = true;
    const take = (pictures: (Picture | null)[]): void => {
      releasePictures(shown.current);
      shown.current = pictures;
      setFound({ pictures, document, id, index, iteration, pins });
    };
    if (!document.nodes[id]) {
      take([]);
      return;
    }
    const params = {
      run: editor.previews.newRun(),
      document,
      nodes: [{ node: id, output: index }],
      samples,
      size: Math.round(Math.max(256, size) * Math.min(2, globalThis.devicePixelRatio || 1)),
      ...shownBatch({ iteration, pins }),
    };
    editor.connection
      .request('compare', params)
      .then(({ result, buffers }) => {
        if (!current) return;
        const images = result.results[0]?.images ?? [];
        take(images.map((reference) => pictureOf(reference, buffers)));
      })
      .catch((error: unknown) => {
        if (current) editor.report(error, t('The other version could not be shown'));
      });
    return () => {
      current = false;
    };
  }, [editor, document, id, index, iteration, pins, samples, size]);
  useEffect(
    () => () => {
      releasePictures(shown.current);
      shown.current = [];
    },
    [],
  );
  // Pictures of another version, node or batch are not shown in place of these until they come.
  const wanted = { document, id, index, iteration, pins };
  const keys = Object.keys(wanted) as (keyof typeof wanted)[];
  return keys.every((key) => found[key] === wanted[key]) ? found.pictures : [];
}

/** This version of the graph over an earlier one. */
export function Versions({ id, index }: { id: string; index: number }) {
  const editor = useEditor();
  const { steps, done } = useValue(editor.history.state);
  const [chosen, setChosen] = useState(() => ({ step: 0, document: editor.history.documentAt(0) }));
  const now = useFocus({ node: id, output: index });
  const result = useResult(id);
  const output = result?.outputs[index];
  const earlier = useOtherVersion(chosen.document, id, index);
  const names = useMemo(
    () => [t('As opened'), ...steps.slice(0, done).map(({ label }, at) => `${at + 1}. ${label}`)],
    [steps, done],
  );
  return (
    <>
      <div className="follow-choice stack">
        <span className="muted">{t('Against')}</span>
        <Choice
          label={t('Version')}
          value={names[chosen.step] ?? `${chosen.step}.`}
          choices={names}
          onChange={(name) => {
            const step = names.indexOf(name);
            setChosen({ step, document: editor.history.documentAt(step) });
          }}
        />
        {!chosen.document.nodes[id] && <span className="muted">{t('%1 was not there then.', id)}</span>}
      </div>
      <Figures
        under={earlier}
        over={bestPictures(now, output)}
        words={[t('then'), t('now')]}
        output={output}
        stale={result?.stale ?? false}
      />
    </>
  );
}
