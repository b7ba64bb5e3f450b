/** The palette: operators by search and by family, gallery entries by search; dragged or added by a press. */
import { Fragment, memo, useContext, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { createPortal } from 'react-dom';
import { appendOperator, removeSubgraph } from '../core/actions';
import type { Operator } from '../core/catalogue';
import { definitionName, FAMILY } from '../core/definitions';
import { OPERATOR_TYPE } from './useDropping';
import { useEditor, useValue } from './context';
import { FamilyIcon, Icon } from './icons';
import { OperatorHelp } from './OperatorHelp';
import { OverlayContext } from './overlay';
import { favourites, noteRecent, recent, sections as chosen, toggleFavourite } from './storage';
import { t } from '../core/language';
import { IconButton } from './controls/buttons';
import { insertRecipe, Recipes, useRecipes } from './Recipes';
import './Palette.css';

/** Sections that are open until they are closed. */
const OPEN = new Set(['subgraphs', 'favourites', 'recent', 'added', 'common', 'others']);

interface Section {
  key: string;
  title: string;
  family?: string;
  operators: Operator[];
}

export function Palette() {
  const editor = useEditor();
  const catalogue = useValue(editor.catalogue);
  const liked = useValue(favourites);
  const used = useValue(recent);
  const toggled = useValue(chosen);
  const readOnly = useValue(editor.session, (session) => session.readOnly);
  const [query, setQuery] = useState('');
  const [hovered, setHovered] = useState<{ operator: Operator; top: number; left: number } | null>(null);
  const overlay = useContext(OverlayContext);
  const list = useRef<HTMLDivElement>(null);

  const sections = useMemo<Section[]>(() => {
    if (!catalogue) return [];
    if (query.trim() !== '') {
      return [{ key: 'found', title: t('Found'), operators: catalogue.search(query) }];
    }
    const named = (names: readonly string[]): Operator[] =>
      names.map((name) => catalogue.operator(name)).filter((operator) => operator !== undefined);
    const families = catalogue.families
      .map(({ name, title }) => ({
        key: name,
        title,
        family: name,
        operators: catalogue.operators.filter(({ family, deprecated }) => family === name && !deprecated),
      }))
      .filter(({ operators }) => operators.length > 0);
    const listed = new Set(catalogue.families.map(({ name }) => name));
    const of = (wanted: string): Operator[] => catalogue.operators.filter(({ family }) => family === wanted);
    const others = catalogue.operators.filter(
      ({ family, deprecated }) => !listed.has(family) && family !== FAMILY && !deprecated,
    );
    return [
      { key: 'favourites', title: t('Favourites'), operators: named(liked) },
      { key: 'recent', title: t('Recent'), operators: named(used) },
      { key: 'subgraphs', title: t('Sub-graphs'), family: FAMILY, operators: of(FAMILY) },
      {
        key: 'added',
        title: t('Added'),
        operators: catalogue.operators.filter(({ added, family }) => added && family !== FAMILY),
      },
      { key: 'common', title: t('Common'), operators: named(catalogue.data.common ?? []) },
      ...families,
      { key: 'others', title: t('Others'), operators: others },
    ].filter(({ operators }) => operators.length > 0);
  }, [catalogue, query, liked, used]);

  const recipes = useRecipes(query);

  function add(op: string): void {
    if (appendOperator(editor, op) !== null) noteRecent(op);
  }

  function onKeyDown(event: KeyboardEvent): void {
    // One stop of the Tab key is enough: arrow keys walk from the field through families and operators.
    const entries = [...(list.current?.querySelectorAll<HTMLElement>('.entry, .family') ?? [])];
    const at = entries.findIndex((entry) => entry === event.target);
    if (event.key === 'ArrowDown') entries[Math.min(entries.length - 1, at + 1)]?.focus();
    else if (event.key === 'ArrowUp') {
      if (at <= 0) list.current?.parentElement?.querySelector('input')?.focus();
      else entries[at - 1]?.focus();
    } else if (event.key === 'Enter' && event.target instanceof HTMLInputElement) {
      const first = sections[0]?.operators[0];
      if (first && query.trim() !== '') add(first.name);
      else if (recipes[0] && !readOnly) insertRecipe(editor, recipes[0].name);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return (
    <aside
      className="palette panel stack"
      data-testid="palette"
      aria-label={t('Palette')}
      onKeyDown={onKeyDown}
    >
      <div className="panel-search line muted">
        <Icon name="search" size={14} />
        <input
          type="search"
          role="searchbox"
          data-testid="palette-search"
          aria-label={t('Search operators')}
          placeholder={t('Search operators')}
          value={query}
          spellCheck={false}
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape' || query === '') return;
            setQuery('');
            event.preventDefault();
          }}
        />
      </div>
      <div
        className="palette-list"
        ref={list}
        onPointerLeave={() => setHovered(null)}
        onScroll={() => setHovered(null)}
      >
        {sections.map((section, index) => {
          const open = section.key === 'found' || (toggled[section.key] ?? OPEN.has(section.key));
          return (
            <section key={section.key}>
              {section.key !== 'found' && (
                <button
                  type="button"
                  className="family"
                  tabIndex={index === 0 ? 0 : -1}
                  aria-expanded={open}
                  onClick={() => chosen.update((before) => ({ ...before, [section.key]: !open }))}
                >
                  <Icon name={open ? 'down' : 'right'} size={10} />
                  <span>{section.title}</span>
                  <span className="count">{section.operators.length}</span>
                </button>
              )}
              {open &&
                section.operators.map((operator, place) => (
                  <Entry
                    key={operator.name}
                    tabIndex={section.key === 'found' && place === 0 ? 0 : -1}
                    operator={operator}
                    family={section.family}
                    color={catalogue?.color(operator.family) ?? 'gray'}
                    liked={liked.includes(operator.name)}
                    disabled={readOnly}
                    onAdd={add}
                    onLeave={() => setHovered(null)}
                    onHover={(element) => {
                      const box = element.getBoundingClientRect();
                      setHovered({ operator, top: box.top, left: box.right + 8 });
                    }}
                  />
                ))}
            </section>
          );
        })}
        <Recipes recipes={recipes} disabled={readOnly} />
        {catalogue && recipes.length === 0 && sections.every(({ operators }) => operators.length === 0) && (
          <p className="palette-none muted">{t('No results for “%1”.', query)}</p>
        )}
      </div>
      {hovered &&
        overlay &&
        createPortal(
          <HoverCard
            operator={hovered.operator}
            top={hovered.top}
            left={hovered.left}
            frame={overlay.getBoundingClientRect()}
          />,
          overlay,
        )}
    </aside>
  );
}

function HoverCard({
  operator,
  top,
  left,
  frame,
}: {
  operator: Operator;
  top: number;
  left: number;
  frame: DOMRect;
}) {
  return (
    <div
      className="hover-card floating"
      role="tooltip"
      style={{ left: left - frame.left, top: Math.max(4, Math.min(top - frame.top, frame.height - 220)) }}
    >
      <OperatorHelp operator={operator} brief />
    </div>
  );
}

/** An operator's name; under its family without the module of that name, and in two lines where room is short. */
function OperatorName({ name, family }: { name: string; family: string | undefined }) {
  const said = [family, 'experimental', 'math'].includes(name.slice(0, name.indexOf('.')));
  const shown = family !== undefined && said ? name.slice(name.indexOf('.') + 1) : name;
  const at = shown.lastIndexOf('.') + 1;
  return (
    <span className="entry-name" title={name}>
      {at > 0 && <span className="muted">{shown.slice(0, at)}</span>}
      <span className="entry-own">
        {shown
          .slice(at)
          .split(/(?<=_)/)
          .map((word, index) => (
            <Fragment key={index}>
              {word}
              <wbr />
            </Fragment>
          ))}
      </span>
    </span>
  );
}

interface EntryProperties {
  operator: Operator;
  tabIndex: number;
  /** The family that it stands under; none in other sections. */
  family: string | undefined;
  color: string;
  liked: boolean;
  disabled: boolean;
  onAdd: (op: string) => void;
  onHover: (element: HTMLElement) => void;
  onLeave: () => void;
}

const Entry = memo(
  function Entry({
    operator,
    tabIndex,
    family,
    color,
    liked,
    disabled,
    onAdd,
    onHover,
    onLeave,
  }: EntryProperties) {
    const editor = useEditor();
    const own = definitionName(operator.name);
    return (
      <div
        className="entry line"
        role="group"
        aria-roledescription="operator"
        tabIndex={tabIndex}
        aria-label={`${operator.name}: ${operator.summary}`}
        aria-disabled={disabled}
        data-testid="palette-entry"
        data-op={operator.name}
        draggable={!disabled}
        onDragStart={(event) => {
          onLeave();
          event.dataTransfer.setData(OPERATOR_TYPE, operator.name);
          event.dataTransfer.effectAllowed = 'copy';
          noteRecent(operator.name);
        }}
        onDoubleClick={() => onAdd(operator.name)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            event.stopPropagation();
            onAdd(operator.name);
          }
        }}
        onPointerEnter={(event) => onHover(event.currentTarget)}
        onPointerDown={onLeave}
      >
        <FamilyIcon family={operator.family} color={color} size={14} />
        <OperatorName name={operator.name} family={family} />
        {own !== null ? (
          <IconButton
            icon="close"
            label={t('Remove the sub-graph %1', own)}
            className="star"
            tabIndex={-1}
            disabled={disabled}
            onClick={(event) => {
              event.stopPropagation();
              removeSubgraph(editor, own);
            }}
            onDoubleClick={(event) => event.stopPropagation()}
          />
        ) : (
          <IconButton
            icon={liked ? 'star-full' : 'star'}
            label={
              liked ? t('Remove %1 from favourites', operator.name) : t('Make %1 a favourite', operator.name)
            }
            className={`star ${liked ? 'on' : ''}`}
            tabIndex={-1}
            aria-pressed={liked}
            onClick={(event) => {
              event.stopPropagation();
              toggleFavourite(operator.name);
            }}
            onDoubleClick={(event) => event.stopPropagation()}
          />
        )}
      </div>
    );
  },
  (before, after) =>
    before.operator === after.operator &&
    before.tabIndex === after.tabIndex &&
    before.family === after.family &&
    before.liked === after.liked &&
    before.color === after.color &&
    before.disabled === after.disabled,
);
