/** The wall: all entries as tiles of before and after, by family and tag, with search. */
import { memo, useEffect, useMemo, useRef } from 'react';
import { useValue } from '../canvas/context';
import { byFamily, shown, tagsOf } from '../entries/filtering';
import { useGallery } from './hooks';
import type { Tile } from '../entries/model';
import type { BrokenLine, EntryLine } from '../core/protocol.generated';
import { t, tn } from '../core/language';
import { Button, IconButton } from '../canvas/controls/buttons';
import './Wall.css';

const MOST_TAGS = 18;

export function Wall() {
  const model = useGallery();
  const list = useValue(model.list);
  const filter = useValue(model.filter);
  const tiles = useValue(model.tiles);
  const compared = useValue(model.compared);
  const problem = useValue(model.problem);
  const away = useValue(model.host.connection.state, ({ status }) => status !== 'connected');
  const scroller = useRef<HTMLDivElement>(null);
  const found = useMemo(() => (list ? shown(list, filter) : []), [list, filter]);
  const groups = useMemo(() => (list ? byFamily(found, list.families) : []), [list, found]);
  const tags = useMemo(() => (list ? tagsOf(list.entries).slice(0, MOST_TAGS) : []), [list]);

  useEffect(() => {
    const element = scroller.current;
    if (element) element.scrollTop = model.scroll;
    return () => {
      if (element) model.scroll = element.scrollTop;
    };
  }, [model]);

  if (!list && away) return <div className="gallery-empty line muted">{t('Waiting for the session…')}</div>;
  if (problem !== null)
    return (
      <div className="gallery-empty line muted" role="alert">
        <p>{t('The gallery could not be read: %1', problem)}</p>
        <Button onClick={() => void model.load()}>{t('Try again')}</Button>
      </div>
    );
  if (!list) return <div className="gallery-empty line muted">{t('Reading the gallery…')}</div>;
  const own = new Set(list.entries.filter((entry) => entry.own).map(({ name }) => name));
  return (
    <div className="gallery-body">
      <nav className="gallery-side" aria-label={t('Families and tags')}>
        <button
          type="button"
          className="side-item"
          aria-pressed={filter.family === null}
          onClick={() => model.filter.update((old) => ({ ...old, family: null }))}
        >
          <span>{t('All')}</span>
          <span className="muted">{list.entries.length}</span>
        </button>
        {list.families.map(({ name, title }) => (
          <button
            key={name}
            type="button"
            className="side-item"
            data-family={name}
            aria-pressed={filter.family === name}
            onClick={() =>
              model.filter.update((old) => ({ ...old, family: old.family === name ? null : name }))
            }
          >
            <span>{title}</span>
            <span className="muted">{list.entries.filter((entry) => entry.family === name).length}</span>
          </button>
        ))}
        <h3>{t('Tags')}</h3>
        <div className="side-tags">
          {tags.map(([tag, count]) => (
            <button
              key={tag}
              type="button"
              className="tag"
              data-tag={tag}
              aria-pressed={filter.tag === tag}
              title={tn('%1 entry', '%1 entries', count)}
              onClick={() => model.filter.update((old) => ({ ...old, tag: old.tag === tag ? null : tag }))}
            >
              {tag}
            </button>
          ))}
        </div>
      </nav>
      <div className="gallery-wall stack" ref={scroller} data-testid="gallery-wall" data-shown={found.length}>
        {groups.map(({ family, entries }) => (
          <section key={family.name} aria-label={family.title}>
            <h2>
              {family.title} <span className="muted">{entries.length}</span>
            </h2>
            <div className="tiles">
              {entries.map((entry) => (
                <TileCard
                  key={entry.name}
                  entry={entry}
                  own={own.has(entry.name)}
                  tile={tiles.get(entry.name)}
                  compared={compared.includes(entry.name)}
                  onOpen={() => model.go({ page: 'entry', name: entry.name })}
                  onCompare={() => model.toggleCompared(entry.name)}
                />
              ))}
            </div>
          </section>
        ))}
        {found.length === 0 && (
          <div className="gallery-empty line muted">
            <p>{t('No entry matches all of these filters.')}</p>
            <Button onClick={() => model.filter.set({ text: '', family: null, tag: null })}>
              {t('Show everything')}
            </Button>
          </div>
        )}
        {list.broken.length > 0 && <Broken broken={list.broken} />}
      </div>
    </div>
  );
}

interface TileProperties {
  entry: EntryLine;
  own: boolean;
  tile: Tile | undefined;
  compared: boolean;
  onOpen: () => void;
  onCompare: () => void;
}

const TileCard = memo(
  function TileCard({ entry, own, tile, compared, onOpen, onCompare }: TileProperties) {
    const waits = entry.waiting !== undefined;
    return (
      <article className="tile stack" data-testid="gallery-tile" data-entry={entry.name}>
        <button type="button" className="tile-open stack" title={entry.helps} onClick={onOpen}>
          <span className={`tile-pictures ${tile?.before ? '' : 'single'}`}>
            {waits && <span className="tile-note fill line muted">{t('Waiting: %1', entry.waiting)}</span>}
            {tile?.problem !== undefined && (
              <span className="tile-note fill line muted problem">{tile.problem}</span>
            )}
            {tile?.before && <img src={tile.before.url} alt={t('before')} draggable={false} />}
            {tile?.after && <img src={tile.after.url} alt={t('after')} draggable={false} />}
          </span>
          <span className="tile-title ellipsis">{entry.title}</span>
        </button>
        <span className="tile-foot line">
          <span className="muted">
            {own ? `${t('yours')} · ` : ''}
            {entry.tags.join(', ')}
          </span>
          {!waits && (
            <IconButton
              icon={compared ? 'check' : 'plus'}
              label={t('Compare %1', entry.title)}
              title={compared ? t('Leave out of the comparison') : t('Compare')}
              className={compared ? 'on' : ''}
              data-action="compare"
              aria-pressed={compared}
              onClick={onCompare}
            />
          )}
        </span>
      </article>
    );
  },
  (a, b) => a.entry === b.entry && a.tile === b.tile && a.compared === b.compared && a.own === b.own,
);

function Broken({ broken }: { broken: readonly BrokenLine[] }) {
  return (
    <section aria-label={t('Cannot be shown')}>
      <h2>
        {t('Cannot be shown')} <span className="muted">{broken.length}</span>
      </h2>
      <ul className="broken">
        {broken.map(({ name, folder, problem }) => (
          <li key={folder} data-testid="gallery-broken" data-entry={name}>
            <strong>{name}</strong> <span>{problem}</span> <code>{folder}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
