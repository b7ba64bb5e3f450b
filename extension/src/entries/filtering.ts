/** Which entries the wall shows. */
import { search, type Searchable } from '../core/search';
import type { Filter } from './model';
import type { EntryLine, GalleryFamily, GalleryList } from '../core/protocol.generated';

/** The words that find an entry. */
export function searchable(entry: EntryLine, family = ''): Searchable {
  return {
    names: [entry.title, entry.name],
    terms: entry.terms,
    groups: [family, ...entry.tags, ...entry.operators],
    summary: entry.helps,
  };
}

/** The entries that have the family and the tag, and answer to the text, in the gallery's order. */
export function shown(list: GalleryList, { text, family, tag }: Filter): EntryLine[] {
  const titles = new Map(list.families.map((each) => [each.name, each.title]));
  const among = list.entries.filter(
    (entry) => (family === null || entry.family === family) && (tag === null || entry.tags.includes(tag)),
  );
  const found = new Set(search(text, among, (entry) => searchable(entry, titles.get(entry.family))));
  return among.filter((entry) => found.has(entry));
}

/** Entries under their families, in the families' order. */
export function byFamily(
  entries: readonly EntryLine[],
  families: readonly GalleryFamily[],
): { family: GalleryFamily; entries: EntryLine[] }[] {
  return families
    .map((family) => ({ family, entries: entries.filter((entry) => entry.family === family.name) }))
    .filter((group) => group.entries.length > 0);
}

/** Tags in use, the most frequent first. */
export function tagsOf(entries: readonly EntryLine[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { tags } of entries) for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b));
}
