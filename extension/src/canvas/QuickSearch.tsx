/** Search at the pointer: what to add, only what fits the link that was dropped, or what to put in a node's place. */
import { useCallback, useContext, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { addOperator, appendOperator } from '../core/actions';
import type { Operator } from '../core/catalogue';
import { replaceOperator } from '../core/edits';
import { operatorsBefore, operatorsFor } from '../core/connect';
import { NODE_SIZE } from '../core/layout';
import { useEditor, useValue } from './context';
import { OverlayContext } from './overlay';
import { insertRecipe, useRecipeChoices } from './Recipes';
import { noteRecent, recent } from './storage';
import { operatorChoices, SearchList, type Found } from './SearchList';
import { usePressOutside } from './usePressOutside';
import { t } from '../core/language';
import './QuickSearch.css';

export function QuickSearch() {
  const quick = useValue(useEditor().prompts, ({ quick }) => quick);
  return quick ? <QuickSearchBox key={`${quick.at.x},${quick.at.y}`} /> : null;
}

function QuickSearchBox() {
  const editor = useEditor();
  const quick = useValue(editor.prompts, ({ quick }) => quick);
  const overlay = useContext(OverlayContext);
  const catalogue = useValue(editor.catalogue);
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ left: -9999, top: 0 });

  const among = useMemo<Operator[]>(() => {
    const facts = editor.facts;
    if (!quick || !facts) return [];
    if (quick.from) return operatorsFor(facts, quick.from).map(({ operator }) => operator);
    if (quick.to) return operatorsBefore(facts, quick.to).map(({ operator }) => operator);
    const all = facts.catalogue.operators.filter(({ deprecated }) => !deprecated);
    if (quick.replace !== undefined) {
      const family = facts.catalogue.operator(facts.document.nodes[quick.replace]?.op)?.family;
      return [...all].sort((a, b) => Number(b.family === family) - Number(a.family === family));
    }
    const used = recent.get();
    return [...all].sort((a, b) => Number(used.includes(b.name)) - Number(used.includes(a.name)));
  }, [editor, quick]);
  useLayoutEffect(() => {
    if (!quick || !overlay || !box.current) return;
    const frame = overlay.getBoundingClientRect();
    const { width } = box.current.getBoundingClientRect();
    setPlace({
      left: Math.max(8, Math.min(quick.at.x - frame.left, frame.width - width - 8)),
      top: Math.max(8, Math.min(quick.at.y - frame.top, frame.height - 340)),
    });
  }, [quick, overlay]);

  usePressOutside(
    box,
    useCallback(() => editor.prompts.patch({ quick: null }), [editor]),
  );

  const recipes = useRecipeChoices((name) => {
    editor.prompts.patch({ quick: null });
    const { place, after } = quick ?? {};
    insertRecipe(editor, name, place && after === undefined ? { at: place, into: undefined } : undefined);
    editor.canvas?.focus();
  });
  if (!quick || !overlay) return null;

  function choose(operator: Operator): void {
    if (!quick) return;
    editor.prompts.patch({ quick: null });
    noteRecent(operator.name);
    if (quick.replace !== undefined) {
      const id = quick.replace;
      const before = new Set(Object.keys(editor.history.document.nodes));
      editor.edit(t('Replace %1 by %2', id, operator.name), (document) =>
        replaceOperator(document, id, operator),
      );
      const fresh = Object.keys(editor.history.document.nodes).find((name) => !before.has(name));
      editor.select([fresh ?? id]);
    } else if (quick.after !== undefined) {
      appendOperator(
        editor,
        operator.name,
        quick.over ? { at: { x: quick.place.x, y: quick.place.y - 20 } } : {},
      );
    } else {
      const shift = quick.to
        ? { x: -NODE_SIZE.width, y: -20 }
        : quick.from
          ? { x: 0, y: -20 }
          : { x: -NODE_SIZE.width / 2, y: -20 };
      addOperator(editor, operator.name, {
        at: { x: quick.place.x + shift.x, y: quick.place.y + shift.y },
        ...(quick.from ? { from: quick.from } : {}),
        ...(quick.to ? { to: quick.to } : {}),
      });
    }
    editor.canvas?.focus();
  }

  const any = !quick.from && !quick.to && quick.replace === undefined;
  const find = (query: string): Found[] => [
    ...operatorChoices(catalogue, query, choose, among),
    ...(any ? recipes(query) : []),
  ];
  const empty = (query: string): string => (query ? t('No results for “%1”.', query) : t('No results.'));
  const title = quick.from
    ? t('Operators that take %1', quick.from.node)
    : quick.to
      ? t('Operators for %1', 'argument' in quick.to ? quick.to.argument : quick.to.node)
      : quick.replace !== undefined
        ? t('Replace %1', quick.replace)
        : quick.after !== undefined
          ? t('Add an operator after %1', quick.after)
          : t('Add an operator');
  return createPortal(
    <div
      ref={box}
      className="quick-search stack floating"
      data-testid="quick-search"
      role="dialog"
      aria-label={title}
      style={place}
      onKeyDown={(event) => {
        event.stopPropagation();
        // The keys stay in the field: the list is walked by arrow keys.
        if (event.key === 'Tab') event.preventDefault();
        if (event.key !== 'Escape') return;
        event.preventDefault();
        editor.prompts.patch({ quick: null });
        editor.canvas?.focus();
      }}
    >
      <SearchList title={title} find={find} empty={empty} autoFocus />
    </div>,
    overlay,
  );
}
