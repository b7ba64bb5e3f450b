/** Which entries the wall shows. */
import type { Filter } from './model';
import type { EntryLine, GalleryFamily, GalleryList } from './types';

const words = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/** The entries that have the family, the tag and every word. */
export function shown(list: GalleryList, { text, family, tag }: Filter): EntryLine[] {
  const wanted = words(text);
  const titles = new Map(list.families.map((each) => [each.name, each.title]));
  return list.entries.filter((entry) => {
    if (family !== null && entry.family !== family) return false;
    if (tag !== null && !entry.tags.includes(tag)) return false;
    const searched = [entry.name, entry.title, titles.get(entry.family) ?? '', entry.helps]
      .concat(entry.tags, entry.operators)
      .join(' ')
      .toLowerCase();
    return wanted.every((word) => searched.includes(word));
  });
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
