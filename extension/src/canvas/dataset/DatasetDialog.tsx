/** The dataset view of a reader: all of its samples as thumbnails, searched and filtered; some are chosen to preview. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { pin, readerOf, type Query, type Shown } from '../../core/datasets';
import { t, tn } from '../../core/language';
import { formatBytes } from '../../core/values';
import { useEditor, useValue } from '../context';
import { FileName } from '../FileName';
import { Button } from '../controls/buttons';
import { Dialog } from '../dialogs/Dialog';
import { usePages, type Pages } from './usePages';
import './DatasetDialog.css';

const TILE = 104;
const ROW = 128;
const OVERSCAN = 2;
/** Browsers draw no element higher than some 30 million pixels. */
const MOST_HEIGHT = 15_000_000;

const SORTS: { value: NonNullable<Query['sort']>; text: () => string }[] = [
  { value: 'list', text: () => t('As listed') },
  { value: 'name', text: () => t('Name') },
  { value: 'label', text: () => t('Label') },
  { value: 'bytes', text: () => t('File size') },
  { value: 'pixels', text: () => t('Pixels') },
];

export function DatasetDialog({ onClose }: { onClose: () => void }) {
  const editor = useEditor();
  const reader = useMemo(() => readerOf(editor, editor.trayNode), [editor]);
  const [text, setText] = useState('');
  const [searched, setSearched] = useState('');
  const [label, setLabel] = useState<number | null>(null);
  const [damaged, setDamaged] = useState(false);
  const [smallest, setSmallest] = useState<number | null>(null);
  const [sort, setSort] = useState<NonNullable<Query['sort']>>('list');
  const [descending, setDescending] = useState(false);
  const pinned = useValue(editor.batch, ({ pins }) => pins);
  const [chosen, setChosen] = useState<readonly number[]>(pinned?.places ?? []);
  const last = useRef<number | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setSearched(text), 150);
    return () => clearTimeout(timer);
  }, [text]);
  const query: Query = {
    node: reader ?? '',
    text: searched,
    ...(label === null ? {} : { label }),
    ...(smallest === null ? {} : { smallest }),
    damaged,
    sort,
    descending,
  };
  const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
  const pages = usePages(query, Math.round(TILE * ratio));
  const { facts, problem } = pages;
  const choose = (sample: Shown, at: number, through: boolean): void => {
    const from = last.current;
    last.current = at;
    setChosen((before) => {
      if (through && from !== null) {
        const added: number[] = [];
        for (let each = Math.min(from, at); each <= Math.max(from, at); each += 1) {
          const place = pages.sample(each)?.place;
          if (place !== undefined && !before.includes(place)) added.push(place);
        }
        return [...before, ...added];
      }
      return before.includes(sample.place)
        ? before.filter((place) => place !== sample.place)
        : [...before, sample.place];
    });
  };
  const preview = (): void => {
    pin(editor, chosen, facts?.size ?? 0);
    editor.panels.patch({ tray: true });
    editor.tray.patch({ mode: 'batch' });
    onClose();
  };
  return (
    <Dialog
      name="dataset"
      title={reader === null ? t('Dataset') : t('Dataset of %1', reader)}
      wide
      onClose={onClose}
      footer={
        <>
          <span className="muted" role="status">
            {chosen.length === 0
              ? t('Press samples to choose them; Shift takes all between.')
              : tn('%1 sample chosen', '%1 samples chosen', chosen.length)}
          </span>
          <span className="spring" />
          {chosen.length > 0 && <Button onClick={() => setChosen([])}>{t('Choose none')}</Button>}
          {pinned && (
            <Button
              onClick={() => {
                pin(editor, null);
                onClose();
              }}
            >
              {t('Show all in turn')}
            </Button>
          )}
          <Button
            className="primary"
            data-testid="pin"
            disabled={chosen.length === 0}
            title={t('Previews show these samples until you show all in turn again')}
            onClick={preview}
          >
            {chosen.length === 0
              ? t('Pin to the preview')
              : tn('Pin %1 to the preview', 'Pin these %1 to the preview', chosen.length)}
          </Button>
        </>
      }
    >
      <div className="dataset">
        <nav className="dataset-side stack" aria-label={t('Filters')}>
          <input
            data-autofocus
            type="search"
            aria-label={t('Search names')}
            placeholder={t('Search names, or #57')}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <label className="check">
            <input
              type="checkbox"
              data-testid="only-damaged"
              checked={damaged}
              onChange={(event) => setDamaged(event.target.checked)}
            />
            {facts && facts.damaged > 0 ? t('Damaged only (%1)', facts.damaged) : t('Damaged only')}
          </label>
          <label className="dataset-field">
            <span className="muted">{t('Files from')}</span>
            <select
              value={smallest ?? ''}
              aria-label={t('Smallest file')}
              onChange={(event) => setSmallest(event.target.value === '' ? null : Number(event.target.value))}
            >
              <option value="">{t('any size')}</option>
              {[10_000, 100_000, 1_000_000, 10_000_000].map((bytes) => (
                <option key={bytes} value={bytes}>
                  {formatBytes(bytes)}
                </option>
              ))}
            </select>
          </label>
          <label className="dataset-field">
            <span className="muted">{t('Sort')}</span>
            <select
              value={sort}
              aria-label={t('Sort by')}
              onChange={(event) => setSort(event.target.value as NonNullable<Query['sort']>)}
            >
              {SORTS.map(({ value, text }) => (
                <option key={value} value={value}>
                  {text()}
                </option>
              ))}
            </select>
            <Button
              aria-label={t('Descending')}
              aria-pressed={descending}
              title={descending ? t('Descending') : t('Ascending')}
              onClick={() => setDescending(!descending)}
            >
              {descending ? '↓' : '↑'}
            </Button>
          </label>
          {facts && facts.labels.length > 0 && (
            <div className="dataset-labels" role="group" aria-label={t('Labels')}>
              <button
                type="button"
                className="side-row"
                aria-pressed={label === null}
                onClick={() => setLabel(null)}
              >
                <span>{t('All labels')}</span>
                <span className="muted">{facts.size.toLocaleString('en')}</span>
              </button>
              {facts.labels.map((each) => (
                <button
                  key={each.label}
                  type="button"
                  className="side-row"
                  data-label={each.label}
                  aria-pressed={label === each.label}
                  onClick={() => setLabel(label === each.label ? null : each.label)}
                >
                  <span className="ellipsis" title={each.name ?? undefined}>
                    {each.name ?? each.label}
                  </span>
                  <span className="muted">{each.count.toLocaleString('en')}</span>
                </button>
              ))}
            </div>
          )}
        </nav>
        <div className="dataset-main stack">
          <p className="muted dataset-facts" role="status" data-testid="dataset-facts">
            {facts &&
              (facts.matching === facts.size
                ? tn('%1 sample', '%1 samples', facts.size)
                : t(
                    '%1 of %2 samples',
                    facts.matching.toLocaleString('en'),
                    facts.size.toLocaleString('en'),
                  ))}
            {facts?.looking &&
              ` · ${t('looking at files: %1 of %2', facts.looked.toLocaleString('en'), facts.size.toLocaleString('en'))}`}
          </p>
          {reader !== null && facts === null && problem === null && (
            <p className="line muted" role="status">
              <progress aria-label={t('Dataset')} /> {t('Reading the list of samples…')}
            </p>
          )}
          {problem !== null && <p className="problem error">{problem}</p>}
          {reader === null && <p className="muted">{t('There is no reader with a list of samples yet.')}</p>}
          {facts?.matching === 0 && facts.size > 0 && !facts.looking && (
            <p className="muted">{t('No sample answers to all of these filters.')}</p>
          )}
          <Grid key={JSON.stringify(query)} pages={pages} chosen={chosen} onChoose={choose} />
        </div>
      </div>
    </Dialog>
  );
}

interface GridProperties {
  pages: Pages;
  chosen: readonly number[];
  onChoose: (sample: Shown, at: number, through: boolean) => void;
}

/** Only the rows in view are in the page, however many samples there are. */
function Grid({ pages, chosen, onChoose }: GridProperties) {
  const scroller = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [top, setTop] = useState(0);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const count = pages.facts?.matching ?? 0;
  const columns = Math.max(1, Math.floor((size.width - 8) / (TILE + 8)));
  const rows = Math.ceil(count / columns);
  const height = Math.min(rows * ROW, MOST_HEIGHT);
  const scale = height > size.height ? (rows * ROW - size.height) / (height - size.height) : 1;
  const offset = top * scale;
  const firstRow = Math.max(0, Math.floor(offset / ROW) - OVERSCAN);
  const lastRow = Math.min(rows - 1, Math.ceil((offset + size.height) / ROW) + OVERSCAN);
  const first = firstRow * columns;
  const last = Math.min(count, (lastRow + 1) * columns) - 1;
  const see = pages.see;
  useEffect(() => {
    if (size.width > 0 && last >= first) see(first, last);
  }, [see, first, last, size.width]);
  const tiles = [];
  for (let at = first; at <= last; at += 1) {
    const sample = pages.sample(at);
    const y = Math.floor(at / columns) * ROW - offset + top;
    tiles.push(
      <Tile
        key={at}
        at={at}
        sample={sample}
        chosen={sample !== undefined && chosen.includes(sample.place)}
        style={{ transform: `translate(${(at % columns) * (TILE + 8)}px, ${y}px)` }}
        onChoose={onChoose}
      />,
    );
  }
  return (
    <div
      ref={scroller}
      className="dataset-grid"
      role="group"
      aria-label={t('Samples')}
      data-testid="dataset-grid"
      tabIndex={0}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div className="dataset-sheet" style={{ height }}>
        {tiles}
      </div>
    </div>
  );
}

interface TileProperties {
  at: number;
  sample: Shown | undefined;
  chosen: boolean;
  style: React.CSSProperties;
  onChoose: GridProperties['onChoose'];
}

function Tile({ at, sample, chosen, style, onChoose }: TileProperties) {
  const facts = sample && [
    sample.name,
    sample.label_name ?? sample.label,
    sample.width !== undefined && `${sample.width} × ${sample.height}`,
    sample.bytes !== undefined && formatBytes(sample.bytes),
    sample.problem,
  ];
  return (
    <button
      type="button"
      className={`dataset-tile stack ${sample?.problem === undefined ? '' : 'damaged'}`}
      style={style}
      aria-pressed={chosen}
      data-place={sample?.place}
      title={facts?.filter((fact) => fact !== undefined && fact !== false).join('\n')}
      disabled={sample === undefined}
      onClick={(event) => sample && onChoose(sample, at, event.shiftKey)}
    >
      <span className="dataset-picture">
        {sample?.picture ? (
          <img src={sample.picture.url} alt="" draggable={false} />
        ) : (
          <span className="dataset-problem">{sample?.problem ?? ''}</span>
        )}
      </span>
      <span className="dataset-name">
        {sample && <strong>{sample.place + 1}</strong>}{' '}
        <FileName name={sample?.name.replace(/^.*\//, '') ?? ''} />
      </span>
    </button>
  );
}
