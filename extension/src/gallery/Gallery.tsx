/** The whole gallery: its bar, and the wall, an entry, a comparison or a surprise under it. */
import { useEffect, useRef, type KeyboardEvent } from 'react';
import { ConnectionLine } from '../canvas/ConnectionAlarm';
import { useValue } from '../canvas/context';
import { Icon } from '../canvas/icons';
import { CompareView } from './CompareView';
import { EntryView } from './EntryView';
import { GalleryContext } from './hooks';
import type { GalleryModel, Place } from '../entries/model';
import { SurpriseView } from './SurpriseView';
import { Wall } from './Wall';
import { t } from '../core/language';
import './Gallery.css';

export function Gallery({ model }: { model: GalleryModel }) {
  const place = useValue(model.place);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!model.loaded) void model.load();
  }, [model]);
  useEffect(() => {
    // A search that is typed over an entry goes on over the wall.
    if (!root.current?.querySelector('[type="search"]:focus')) root.current?.focus({ preventScroll: true });
  }, [place]);

  // Keys belong to the gallery while it is shown, not to the canvas under it.
  const onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key !== 'Escape') return;
    const target = event.target as HTMLElement;
    if (target.matches('input:not([type="range"]), textarea, select')) target.blur();
    else if (place.page !== 'wall') model.go({ page: 'wall' });
    else model.host.close?.();
  };
  return (
    <GalleryContext.Provider value={model}>
      <div
        ref={root}
        className="gallery fill stack"
        role="region"
        aria-label={t('Gallery')}
        tabIndex={-1}
        data-testid="gallery"
        data-page={place.page}
        onKeyDown={onKeyDown}
        onCopy={(event) => event.stopPropagation()}
        onCut={(event) => event.stopPropagation()}
        onPaste={(event) => event.stopPropagation()}
      >
        <Bar model={model} place={place} />
        {place.page === 'wall' && <Wall />}
        {place.page === 'entry' && <EntryView key={place.name} name={place.name} />}
        {place.page === 'compare' && <CompareView />}
        {place.page === 'surprise' && <SurpriseView />}
        <ConnectionLine connection={model.host.connection} />
      </div>
    </GalleryContext.Provider>
  );
}

function Bar({ model, place }: { model: GalleryModel; place: Place }) {
  const filter = useValue(model.filter);
  const compared = useValue(model.compared);
  const list = useValue(model.list);
  const title =
    place.page === 'entry' ? list?.entries.find(({ name }) => name === place.name)?.title : undefined;
  return (
    <div className="toolbar line gallery-bar" role="toolbar" aria-label={t('Gallery')}>
      {model.host.close && (
        <button
          type="button"
          className="tool with-label"
          data-action="to-editor"
          onClick={() => model.host.close?.()}
        >
          <Icon name="arrange" />
          <span>{t('Editor')}</span>
        </button>
      )}
      {place.page === 'wall' ? (
        <span className="document-title ellipsis">{t('Gallery')}</span>
      ) : (
        <span className="document-title ellipsis crumbs">
          <button
            type="button"
            className="link-button"
            data-action="to-wall"
            onClick={() => model.go({ page: 'wall' })}
          >
            {t('Gallery')}
          </button>
          {title !== undefined && <span> / {title}</span>}
        </span>
      )}
      <span className="spring" />
      <span className="gallery-search muted">
        <Icon name="search" size={14} />
        <input
          type="search"
          aria-label={t('Search the gallery')}
          data-testid="gallery-search"
          placeholder={t('Search: rotate, random, boxes…')}
          value={filter.text}
          onChange={(event) => {
            model.filter.update((old) => ({ ...old, text: event.target.value }));
            if (place.page !== 'wall') model.go({ page: 'wall' });
          }}
        />
      </span>
      <span className="spring" />
      <button
        type="button"
        className="tool with-label"
        data-action="to-compare"
        aria-pressed={place.page === 'compare'}
        onClick={() => model.go({ page: 'compare' })}
      >
        <Icon name="gallery" />
        <span>{compared.length > 0 ? t('Compare (%1)', compared.length) : t('Compare')}</span>
      </button>
      <button
        type="button"
        className="tool with-label"
        data-action="to-surprise"
        aria-pressed={place.page === 'surprise'}
        onClick={() => model.go({ page: 'surprise' })}
      >
        <Icon name="dice" />
        <span>{t('Surprise me')}</span>
      </button>
    </div>
  );
}
