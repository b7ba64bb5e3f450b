/** A sweep: the same sample with an argument at several values, as a strip of pictures. */
import { useEffect, useState } from 'react';
import { setArgument } from '../core/actions';
import { bounds, valueOf, type ArgumentDeclaration } from '../core/catalogue';
import type { Value } from '../core/document';
import { browserPictures, pictureOf } from '../core/pictures';
import type { PictureRef } from '../core/protocol';
import { asNumber, formatValue, tidy } from '../core/values';
import { useEditor, useNode, useOperator, useValue } from './context';
import { Choice } from './controls/fields';
import { t } from '../core/language';
import './Sweep.css';

interface Shot {
  value: Value;
  url: string | null;
  error: string | null;
}

/** Values worth looking at: the choices, or seven steps through the range. */
function sweepValues(argument: ArgumentDeclaration, current: Value): Value[] {
  if (argument.choices) return argument.choices;
  if (argument.type === 'bool') return [false, true];
  const { soft } = bounds(argument);
  const middle = asNumber(current) ?? asNumber(argument.default ?? null) ?? 1;
  const [low, high] = soft ?? [
    middle - Math.max(1, Math.abs(middle)),
    middle + Math.max(1, Math.abs(middle)),
  ];
  const values = Array.from({ length: 7 }, (_, index) =>
    tidy(low + ((high - low) * index) / 6, (high - low) / 50),
  );
  return argument.type === 'int' ? [...new Set(values.map(Math.round))] : values;
}

export function Sweep({ id, sample }: { id: string; sample: number }) {
  const editor = useEditor();
  const node = useNode(id);
  const operator = useOperator(node?.op);
  const revision = useValue(editor.sync.revision);
  const candidates = (operator?.arguments ?? []).filter(
    ({ type, list, choices, advanced }) =>
      !list && !advanced && (type === 'float' || type === 'int' || type === 'bool' || choices),
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const argument =
    candidates.find(({ name }) => name === chosen) ??
    candidates.find(({ important }) => important) ??
    candidates[0];
  const [shots, setShots] = useState<Shot[]>([]);

  useEffect(() => {
    if (!argument) return;
    const values = sweepValues(argument, valueOf(argument, editor.history.document.nodes[id]?.arguments));
    const run = editor.previews.newRun();
    let current = true;
    editor.connection
      .request<{ images: (PictureRef | null)[]; errors: (string | null)[] }>('sweep', {
        run,
        node: id,
        argument: argument.name,
        values,
        sample,
        thumb: 320,
      })
      .then(({ result, buffers }) => {
        if (!current) return;
        setShots(
          values.map((value, index) => ({
            value,
            url: pictureOf(result.images[index], buffers)?.url ?? null,
            error: result.errors[index] ?? null,
          })),
        );
      })
      .catch((error: unknown) => {
        if (current) editor.report(error, t('The sweep ended'));
      });
    return () => {
      current = false;
      setShots((before) => {
        for (const { url } of before) if (url) browserPictures.release(url);
        return before;
      });
    };
  }, [editor, id, argument, sample, revision]);

  if (!argument) return <p className="muted hint">{t('%1 has no argument to sweep.', id)}</p>;
  return (
    <>
      <div className="follow-choice stack">
        <span className="muted">{t('Argument')}</span>
        <Choice
          label={t('Argument to sweep')}
          value={argument.name}
          choices={candidates.map(({ name }) => name)}
          onChange={setChosen}
        />
      </div>
      {shots.map(({ value, url, error }) => (
        <figure key={JSON.stringify(value)} className="sample stack" title={t('Click to take this value')}>
          {url ? (
            <button
              type="button"
              className="plain-button"
              onClick={() => setArgument(editor, id, argument, value)}
            >
              <img src={url} alt={t('%1 at %2', argument.name, formatValue(value))} draggable={false} />
            </button>
          ) : (
            <pre className="sample-text">{error ?? ''}</pre>
          )}
          <figcaption>{formatValue(value)}</figcaption>
        </figure>
      ))}
    </>
  );
}
