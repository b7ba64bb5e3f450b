/** The gallery's entries as cards with their pictures, found by search. */
import { useEffect, useMemo, useState } from 'react';
import { t } from '../../core/language';
import { byFamily, shown } from '../../entries/filtering';
import { modelOf } from '../../entries/modelOf';
import { useEditor, useValue } from '../context';
import { Icon } from '../icons';
import './GalleryCards.css';

export function GalleryCards({ onChoose }: { onChoose: (name: string) => void }) {
  const editor = useEditor();
  const model = useMemo(() => modelOf(editor), [editor]);
  const list = useValue(model.list);
  const tiles = useValue(model.tiles);
  const [text, setText] = useState('');
  useEffect(() => {
    if (list === null) model.entries().catch(() => undefined);
    else model.existing(list.entries.map(({ name }) => name)).catch(() => undefined);
  }, [model, list]);
  const groups = useMemo(() => {
    if (!list) return [];
    const found = shown(list, { text, family: null, tag: null }).filter(({ waiting }) => waiting == null);
    const families = byFamily(found, list.families);
    // Whole recipes are what most people begin with.
    return [
      ...families.filter(({ family }) => family.name === 'recipes'),
      ...families.filter(({ family }) => family.name !== 'recipes'),
    ];
  }, [list, text]);
  return (
    <section className="gallery-cards stack" aria-label={t('Gallery')}>
      <div className="gallery-cards-head line">
        <h3>{t('From the gallery')}</h3>
        <input
          type="search"
          aria-label={t('Search the gallery')}
          placeholder={t('Search the gallery')}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {list === null && <p className="muted hint">{t('Reading the gallery…')}</p>}
      {list !== null && groups.length === 0 && (
        <p className="muted hint">{t('Nothing here has all of that.')}</p>
      )}
      {groups.map(({ family, entries }) => (
        <div key={family.name} className="stack gallery-cards-family">
          <h4 className="muted">{family.title}</h4>
          <div className="gallery-cards-grid">
            {entries.map(({ name, title, helps }) => {
              const picture = tiles.get(name)?.after;
              return (
                <button
                  key={name}
                  type="button"
                  className="gallery-card stack"
                  data-gallery-name={name}
                  title={helps}
                  onClick={() => onChoose(name)}
                >
                  <span className="gallery-card-picture">
                    {picture ? (
                      <img src={picture.url} alt="" draggable={false} />
                    ) : (
                      <Icon name="gallery" size={16} />
                    )}
                  </span>
                  <span className="gallery-card-title">{title}</span>
                </button>
              );
            })}
          </div>
        </div>
      ))}
    </section>
  );
}
