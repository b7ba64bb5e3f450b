/** Gallery entries that answer to the palette's search: dragged into the graph as a group of nodes. */
import { useCallback, useEffect, useMemo } from 'react';
import type { Editor } from '../core/editor';
import { t } from '../core/language';
import { search } from '../core/search';
import { insertInto, type Where } from '../entries/editorHost';
import { searchable } from '../entries/filtering';
import { modelOf } from '../entries/modelOf';
import type { EntryLine } from '../core/protocol.generated';
import { useEditor, useValue } from './context';
import { Icon } from './icons';
import type { Found } from './SearchList';
import './Recipes.css';

export const RECIPE_TYPE = 'application/x-dali-lab-recipe';
const MOST = 12;

/** The search of gallery entries that can be put into a graph, best first; the list is read once `wanted`. */
function useRecipeSearch(wanted = true): (query: string) => EntryLine[] {
  const editor = useEditor();
  const model = useMemo(() => modelOf(editor), [editor]);
  const list = useValue(model.list);
  useEffect(() => {
    // A session without a gallery has none to offer.
    if (wanted && list === null) model.entries().catch(() => undefined);
  }, [model, wanted, list]);
  return useCallback(
    (query) => {
      if (query.trim() === '' || !list) return [];
      const offered = list.entries.filter(({ waiting }) => waiting == null);
      return search(query, offered, (entry) => searchable(entry)).slice(0, MOST);
    },
    [list],
  );
}

export function useRecipes(query: string): EntryLine[] {
  const find = useRecipeSearch(query.trim() !== '');
  return useMemo(() => find(query), [find, query]);
}

/** The same as choices of a search, which `run` puts into the graph. */
export function useRecipeChoices(run: (name: string) => void): (query: string) => Found[] {
  const find = useRecipeSearch();
  return (query) =>
    find(query).map(({ name, title, helps }) => ({
      id: `entry-${name}`,
      label: title,
      hint: helps,
      icon: <Icon name="gallery" size={14} />,
      run: () => run(name),
    }));
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
