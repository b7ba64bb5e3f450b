/** A sweep: the same sample with an argument at several values, as a strip of pictures; with two arguments, a sheet. */
import { Fragment, useEffect, useState } from 'react';
import { setArguments } from '../core/actions';
import { bounds, valueOf, type ArgumentDeclaration } from '../core/catalogue';
import { isArgument, links, type Value } from '../core/document';
import { shownBatch } from '../core/focus';
import { browserPictures, pictureOf } from '../core/pictures';
import { asNumber, formatValue, tidy } from '../core/values';
import { useEditor, useNode, useOperator, useValue } from './context';
import { Choice } from './controls/fields';
import { t } from '../core/language';
import './Sweep.css';

interface Shot {
  value: Value;
  /** The value of the second argument, where there is one. */
  other?: Value;
  url: string | null;
  error: string | null;
}

/** Pictures, what they are of, and the last state of the graph that all of them are of. */
interface Found {
  what: string;
  revision: number | null;
  shots: Shot[];
}

/** Values worth looking at: the choices, or steps through the range; lists get one number for all their members. */
function sweepValues(argument: ArgumentDeclaration, current: Value, steps: number): Value[] {
  const ends = endsOf(argument, current);
  if (ends) return widths(ends, steps);
  if (argument.choices) return argument.choices.slice(0, steps + 2);
  if (argument.type === 'bool') return [false, true];
  const { soft } = bounds(argument);
  const first = (value: Value): number | null => asNumber(Array.isArray(value) ? (value[0] ?? null) : value);
  const middle = first(current) ?? first(argument.default ?? null) ?? 1;
  const spread = Math.max(1, Math.abs(middle));
  const least = argument.minimum ?? -Infinity;
  const [low, high] = soft ?? [Math.max(least, middle - spread), middle + spread];
  const numbers = Array.from({ length: steps }, (_, index) => {
    const value = tidy(low + ((high - low) * index) / (steps - 1), (high - low) / 50);
    return argument.type === 'int' ? Math.round(value) : value;
  });
  const members = Array.isArray(current) ? current.length : (argument.length ?? 1);
  return [...new Set(numbers)].map((value) => (argument.list ? Array<Value>(members).fill(value) : value));
}

/** The ends of a range that numbers are drawn from, where an argument is one. */
function endsOf({ type, list, length }: ArgumentDeclaration, current: Value): [number, number] | null {
  if (type !== 'float' || !list || length !== 2 || !Array.isArray(current) || current.length !== 2)
    return null;
  const [low, high] = current.map((item) => asNumber(item)) as [number | null, number | null];
  return low !== null && high !== null && low < high ? [low, high] : null;
}

/** Ranges about the same middle, from a quarter of the width on; those of shares stay shares. */
function widths([low, high]: [number, number], steps: number): Value[] {
  const middle = (low + high) / 2;
  const most = low >= 0 && high <= 1 ? 1 : 1.75;
  return Array.from({ length: steps }, (_, index) => {
    const half = ((high - low) / 2) * (0.25 + ((most - 0.25) * index) / (steps - 1));
    return [middle - half, middle + half].map((end) => tidy(end, half / 50));
  });
}

const NONE = '–';

export function Sweep({ id, sample }: { id: string; sample: number }) {
  const editor = useEditor();
  const node = useNode(id);
  const operator = useOperator(node?.op);
  const revision = useValue(editor.sync.revision);
  const iteration = useValue(editor.batch, (batch) => batch.iteration);
  const pins = useValue(editor.batch, (batch) => batch.pins);
  const candidates = (operator?.arguments ?? []).filter(
    ({ type, list, choices, advanced }) =>
      !advanced &&
      (type === 'float' || type === 'int' || (!list && (type === 'bool' || choices !== undefined))),
  );
  const [second, setSecond] = useState(NONE);
  const [chosen, setChosen] = useState<string | null>(null);
  const argument =
    candidates.find(({ name }) => name === chosen) ??
    candidates.find(({ name, type }) => type === 'float' && Object.hasOwn(node?.arguments ?? {}, name)) ??
    candidates.find(({ important }) => important) ??
    candidates[0];
  const other = candidates.find(({ name }) => name === second && name !== argument?.name);
  const what = JSON.stringify([id, argument?.name, other?.name, sample, iteration, pins]);
  const [found, setFound] = useState<Found>({ what, revision: null, shots: [] });
  const shots = found.what === what ? found.shots : [];
  const stale = found.revision !== revision;

  useEffect(() => {
    if (!argument) return;
    const given = editor.history.document.nodes[id]?.arguments;
    const values = sweepValues(argument, valueOf(argument, given), other ? 5 : 7);
    // Numbers that are drawn show in the pictures of the node that they steer.
    const shown = operator?.outputs.every(({ kind }) => kind === 'tensor')
      ? links(editor.history.document).find(({ source, target }) => source.node === id && isArgument(target))
          ?.target.node
      : undefined;
    const rows = other ? sweepValues(other, valueOf(other, given), 4) : [undefined];
    let current = true;
    const row = async (against: Value | undefined): Promise<Shot[]> => {
      const { result, buffers } = await editor.connection.request('sweep', {
        run: editor.previews.newRun(),
        node: id,
        argument: argument.name,
        values,
        ...(shown === undefined ? {} : { shown }),
        ...(other && against !== undefined ? { also: { [other.name]: against } } : {}),
        sample,
        ...shownBatch({ iteration, pins }),
        thumb: 320,
      });
      return values.map((value, index) => ({
        value,
        ...(against === undefined ? {} : { other: against }),
        url: pictureOf(result.images[index], buffers)?.url ?? null,
        error: result.errors[index] ?? null,
      }));
    };
    const made: Shot[] = [];
    const release = (shots: Shot[]): void => {
      for (const { url } of shots) if (url) browserPictures.release(url);
    };
    const all = async (): Promise<void> => {
      for (const against of rows) {
        const shots = await row(against);
        if (!current) {
          release(shots);
          return;
        }
        made.push(...shots);
        const whole = made.length === rows.length * values.length;
        // Rows that are on their way keep the place of those before: the button that has the focus stays.
        setFound((before) => ({
          what,
          revision: whole ? revision : before.revision,
          shots: [...made, ...(whole || before.what !== what ? [] : before.shots.slice(made.length))],
        }));
      }
    };
    all().catch((error: unknown) => {
      if (current) editor.report(error, t('The sweep ended'));
    });
    return () => {
      current = false;
      release(made);
    };
  }, [editor, id, what, operator, argument, other, sample, iteration, pins, revision]);

  if (!argument) return <p className="muted hint">{t('%1 has no argument to sweep.', id)}</p>;
  // One reason for all is said once.
  const [first] = shots;
  const refused =
    first?.error != null && shots.every(({ error }) => error === first.error) ? first.error : null;
  const take = ({ value, other: against }: Shot): void => {
    setArguments(editor, id, {
      [argument.name]: value,
      ...(other && against !== undefined ? { [other.name]: against } : {}),
    });
  };
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
        {candidates.length > 1 && (
          <Choice
            label={t('Second argument to sweep')}
            value={other?.name ?? NONE}
            choices={[NONE, ...candidates.map(({ name }) => name).filter((name) => name !== argument.name)]}
            onChange={setSecond}
          />
        )}
      </div>
      {refused !== null && <p className="problem error sweep-refused">{refused}</p>}
      {refused === null && other && (
        <ContactSheet columns={argument.name} rows={other.name} shots={shots} stale={stale} onTake={take} />
      )}
      {refused === null && !other && (
        <div className="sweep-strip" data-testid="sweep">
          {shots.map((shot, index) => (
            <figure key={index} className={`sample stack ${stale ? 'stale' : ''}`}>
              <Picture
                shot={shot}
                alt={t('%1 at %2', argument.name, formatValue(shot.value))}
                onTake={take}
              />
              <figcaption>{formatValue(shot.value)}</figcaption>
            </figure>
          ))}
        </div>
      )}
    </>
  );
}

interface PictureProperties {
  shot: Shot;
  alt: string;
  onTake: (shot: Shot) => void;
}

/** The picture of one value, which a click takes; or why there is none. */
function Picture({ shot, alt, onTake }: PictureProperties) {
  if (!shot.url) return <pre className="sample-text">{shot.error ?? ''}</pre>;
  return (
    <button
      type="button"
      className="plain-button"
      title={`${alt}\n${t('Click to take this value')}`}
      onClick={() => onTake(shot)}
    >
      <img src={shot.url} alt={alt} draggable={false} />
    </button>
  );
}

interface SheetProperties {
  columns: string;
  rows: string;
  shots: readonly Shot[];
  stale: boolean;
  onTake: (shot: Shot) => void;
}

/** The pictures of two arguments: a column for each value of the first, a row for each of the second. */
function ContactSheet({ columns, rows, shots, stale, onTake }: SheetProperties) {
  const across = new Set(shots.map(({ value }) => JSON.stringify(value))).size || 1;
  return (
    <div
      className="contact-sheet"
      data-testid="sweep"
      style={{ gridTemplateColumns: `max-content repeat(${across}, var(--size))` }}
    >
      {shots.length > 0 && (
        <div className="sheet-corner muted">
          <span>{columns} →</span>
          <span>{rows} ↓</span>
        </div>
      )}
      {shots.slice(0, across).map(({ value }, index) => (
        <div key={index} className="sheet-column ellipsis">
          {formatValue(value)}
        </div>
      ))}
      {shots.map((shot, index) => {
        const [value, against] = [formatValue(shot.value), formatValue(shot.other ?? null)];
        return (
          <Fragment key={index}>
            {index % across === 0 && <div className="sheet-row">{against}</div>}
            <div className={`sample ${stale ? 'stale' : ''}`}>
              <Picture shot={shot} alt={`${columns} ${value}, ${rows} ${against}`} onTake={onTake} />
            </div>
          </Fragment>
        );
      })}
    </div>
  );
}
