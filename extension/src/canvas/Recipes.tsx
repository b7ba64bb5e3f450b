/** Gallery entries that answer to the palette's search: dragged into the graph as a group of nodes. */
import { useEffect, useMemo } from 'react';
import type { Editor } from '../core/editor';
import { t } from '../core/language';
import { search } from '../core/search';
import { insertInto, type Where } from '../entries/editorHost';
import { searchable } from '../entries/filtering';
import { modelOf } from '../entries/modelOf';
import type { EntryLine } from '../core/protocol.generated';
import { useEditor, useValue } from './context';
import { Icon } from './icons';
import './Recipes.css';

export const RECIPE_TYPE = 'application/x-dali-lab-recipe';
const MOST = 12;

/** Entries of the gallery that answer to a query and can be put into a graph, best first. */
export function useRecipes(query: string): EntryLine[] {
  const editor = useEditor();
  const model = useMemo(() => modelOf(editor), [editor]);
  const list = useValue(model.list);
  const wanted = query.trim() !== '';
  useEffect(() => {
    // A session without a gallery has none to offer.
    if (wanted && list === null) model.entries().catch(() => undefined);
  }, [model, wanted, list]);
  return useMemo(() => {
    if (!wanted || !list) return [];
    const offered = list.entries.filter(({ waiting }) => waiting == null);
    return search(query, offered, (entry) => searchable(entry)).slice(0, MOST);
  }, [query, wanted, list]);
}

/** Puts an entry's nodes into the graph, with a notice where that fails. */
export function insertRecipe(editor: Editor, name: string, where?: Where): void {
  modelOf(editor)
    .entry(name)
    .then((page) => insertInto(editor, page, page.document, where))
    .catch((error: unknown) => editor.notify('error', (error as Error).message));
}

export function Recipes({ recipes, disabled }: { recipes: readonly EntryLine[]; disabled: boolean }) {
  const editor = useEditor();
  const model = useMemo(() => modelOf(editor), [editor]);
  const tiles = useValue(model.tiles);
  useEffect(() => {
    model.existing(recipes.map(({ name }) => name)).catch(() => undefined);
  }, [model, recipes]);
  if (recipes.length === 0) return null;
  return (
    <section aria-label={t('Gallery')}>
      <h3 className="recipes-title">{t('From the gallery')}</h3>
      {recipes.map(({ name, title, helps }) => {
        const picture = tiles.get(name)?.after;
        return (
          <div
            key={name}
            className="entry recipe line"
            role="group"
            aria-roledescription={t('gallery entry')}
            tabIndex={-1}
            aria-label={`${title}: ${helps}`}
            aria-disabled={disabled}
            title={helps}
            data-testid="palette-recipe"
            data-entry={name}
            draggable={!disabled}
            onDragStart={(event) => {
              event.dataTransfer.setData(RECIPE_TYPE, name);
              event.dataTransfer.effectAllowed = 'copy';
            }}
            onDoubleClick={() => !disabled && insertRecipe(editor, name)}
            onKeyDown={(event) => {
              if (disabled || (event.key !== 'Enter' && event.key !== ' ')) return;
              event.preventDefault();
              event.stopPropagation();
              insertRecipe(editor, name);
            }}
          >
            {picture ? <img src={picture.url} alt="" draggable={false} /> : <Icon name="gallery" size={14} />}
            <span className="entry-name">{title}</span>
          </div>
        );
      })}
    </section>
  );
}
