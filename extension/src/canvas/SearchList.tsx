/** A list that is searched by typing and walked by arrow keys. */
import { useMemo, useState, type ReactNode } from 'react';
import type { Catalogue, Operator } from '../core/catalogue';
import { FamilyIcon, Icon } from './icons';
import './SearchList.css';

export interface Found {
  id: string;
  label: string;
  hint: string;
  /** Text that it is found by, too. */
  words?: string;
  icon: ReactNode;
  run: () => void;
}

/** Operators that answer to a query, best first. */
export function operatorChoices(
  catalogue: Catalogue | null,
  query: string,
  choose: (operator: Operator) => void,
  among?: readonly Operator[],
): Found[] {
  return (catalogue?.search(query, among).slice(0, 60) ?? []).map((operator) => ({
    id: operator.name,
    label: operator.name,
    hint: operator.summary,
    icon: (
      <FamilyIcon family={operator.family} color={catalogue?.color(operator.family) ?? 'gray'} size={14} />
    ),
    run: () => choose(operator),
  }));
}

interface Properties {
  title: string;
  /** The entries that answer to what is typed. */
  find: (query: string) => readonly Found[];
  empty: (query: string) => string;
  /** Takes the keys at once; a dialog gives them to it by itself. */
  autoFocus?: boolean;
}

export function SearchList({ title, find, empty, autoFocus }: Properties) {
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const found = useMemo(() => find(query), [find, query]);
  return (
    <>
      <div className="panel-search line muted">
        <Icon name="search" size={14} />
        <input
          data-autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls="search-list"
          aria-activedescendant={found[at] ? `found-${found[at].id}` : undefined}
          aria-label={title}
          placeholder={title}
          autoFocus={autoFocus}
          spellCheck={false}
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setAt(Math.min(found.length - 1, at + 1));
            else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
            else if (event.key === 'Enter') found[at]?.run();
            else return;
            event.preventDefault();
            event.stopPropagation();
          }}
        />
      </div>
      <div className="search-list" id="search-list" role="listbox" aria-label={title}>
        {found.map((entry, index) => (
          <div
            key={entry.id}
            id={`found-${entry.id}`}
            role="option"
            aria-selected={index === at}
            className="search-entry line"
            data-testid="search-entry"
            data-choice={entry.id}
            ref={index === at ? (element) => element?.scrollIntoView({ block: 'nearest' }) : undefined}
            onPointerMove={() => setAt(index)}
            onClick={entry.run}
          >
            {entry.icon}
            <span className="entry-name ellipsis">{entry.label}</span>
            <span className="search-hint ellipsis muted">{entry.hint}</span>
          </div>
        ))}
        {found.length === 0 && <p className="palette-none muted">{empty(query)}</p>}
      </div>
    </>
  );
}
