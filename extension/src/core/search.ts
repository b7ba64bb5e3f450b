/** Search over names, other names and descriptions: words in any order, without accents, with slips of the keyboard. */

/** The words that find an item, the most telling first. */
export interface Searchable {
  /** Its names; a dotted name is found by each part, too. */
  names: readonly string[];
  /** Other names: everyday words, other libraries' classes, other languages. */
  terms?: readonly string[] | undefined;
  /** Text that it belongs under: the title of its family, tags. */
  groups?: readonly string[];
  summary?: string;
  /** Text that is looked at last: documentation, names of arguments. */
  rest?: readonly string[];
  /** Stands before others that answer as well. */
  common?: boolean;
}

interface Prepared {
  names: string[];
  terms: string[];
  groups: string;
  summary: string;
  rest: string;
  common: boolean;
  /** All words of names and terms. */
  words: string[];
}

/** Lower case, without accents, camel case and separators as spaces: "ColorJitter" and "color_jitter" are the same. */
function plain(text: string): string {
  return text
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .replace(/[._()\s-]+/g, ' ')
    .trim();
}

const prepared = new WeakMap<object, Prepared>();

function prepare(key: object, searchable: () => Searchable): Prepared {
  const known = prepared.get(key);
  if (known) return known;
  const { names, terms = [], groups = [], summary = '', rest = [], common = false } = searchable();
  const own = names.map(plain);
  const others = terms.map(plain);
  const made = {
    names: own,
    terms: others,
    groups: plain(groups.join(' ')),
    summary: plain(summary),
    rest: plain(rest.join(' ')),
    common,
    words: [...own, ...others].flatMap((text) => text.split(' ')),
  };
  prepared.set(key, made);
  return made;
}

/** The items that answer to a query, best first; an empty query gives all, in their order. */
export function search<T extends object>(
  query: string,
  items: readonly T[],
  searchable: (item: T) => Searchable,
): T[] {
  const whole = plain(query);
  if (whole === '') return [...items];
  const words = whole.split(' ');
  const rank = (score: (item: Prepared) => number): T[] =>
    items
      .map((item): [number, T] => [score(prepare(item, () => searchable(item))), item])
      .filter(([value]) => value > 0)
      .sort((a, b) => b[0] - a[0])
      .map(([, item]) => item);
  // Among names that begin with the query the shortest is meant, and being common decides between equals.
  const first = (score: number, { common, names }: Prepared): number => {
    if (score <= 0) return score;
    if (score < 80) return common ? score + 5 : score;
    const begun = names.filter((name) => name.startsWith(whole)).map(({ length }) => whole.length / length);
    return score + 4 * Math.max(0, ...begun) + (common ? 1 : 0);
  };
  const found = rank((item) =>
    first(exactly(item, whole) + everyWord(words, (word) => scoreOf(item, word)), item),
  );
  if (found.length > 0) return found;
  const slips = rank((item) =>
    first(
      everyWord(words, (word) => slip(item, word)),
      item,
    ),
  );
  if (slips.length > 0) return slips;
  const short = rank((item) => everyWord(words, (word) => abbreviated(item, word)));
  return short.length > 0 ? short : inPart(words, rank);
}

/** Words that many wishes have, and that tell no operators apart. */
const FILLERS = new Set(
  (
    'a an and are be by das den der die ein eine et for from get help helps how i images image in is it le les less ' +
    'make mehr mein meine mes more my of on or photo photos picture pictures so that the them these to too un une ' +
    'und very want what with zu against bilder bild fotos gegen machen'
  ).split(' '),
);

/** The items that answer to some words of a wish, "pictures that are too dark"; a word that few answer to counts most. */
function inPart<T>(words: readonly string[], rank: (score: (item: Prepared) => number) => T[]): T[] {
  const telling = words.filter((word) => !FILLERS.has(word));
  const related = ({ words: all }: Prepared, word: string): number =>
    word.length > 4 && all.some((other) => other.startsWith(word.slice(0, 4))) ? 5 : 0;
  const score = (item: Prepared, word: string): number =>
    Math.max(scoreOf(item, word) - 10, slip(item, word), related(item, word));
  const counts = telling.map((word) => rank((item) => score(item, word)).length);
  return rank((item) =>
    telling.reduce((sum, word, at) => sum + score(item, word) / Math.max(1, counts[at] ?? 1), 0),
  );
}

const together = (text: string): string => text.replaceAll(' ', '');

/** The whole query is one of the names: "tensor resize", "ToTensor", "totensor". */
function exactly({ names, terms }: Prepared, whole: string): number {
  const same = (text: string): boolean => together(text) === together(whole);
  if (names.some(same)) return 100;
  return terms.some(same) ? 45 : 0;
}

/** The scores of the words together; 0 where one of them is not found. */
function everyWord(words: readonly string[], score: (word: string) => number): number {
  let total = 0;
  for (const word of words) {
    const value = score(word);
    if (value === 0) return 0;
    total += value;
  }
  return total / words.length;
}

function scoreOf(item: Prepared, word: string): number {
  const { names, terms } = item;
  const starts = (text: string): boolean => text.startsWith(word) || text.includes(` ${word}`);
  if (names.some((name) => name.startsWith(word))) return 80;
  if (names.some(starts)) return 60;
  if (terms.some((term) => term.startsWith(word) || together(term).startsWith(word))) return 50;
  if (terms.some(starts)) return 42;
  if (names.some((name) => name.includes(word) || together(name).includes(word))) return 40;
  if (word.length > 2 && terms.some((term) => term.includes(word))) return 30;
  if (terms.some((term) => !/^[\p{ASCII}]*$/u.test(word) && term.includes(word))) return 30;
  if (item.groups.includes(word)) return 25;
  if (starts(item.summary)) return 20;
  return word.length > 2 && starts(item.rest) ? 6 : 0;
}

function abbreviated({ names }: Prepared, word: string): number {
  return word.length > 2 && names.some((name) => inOrder(together(name), word)) ? 3 : 0;
}

/** Whether the letters of `word` occur in `text` in their order: "gblur" finds "gaussian_blur". */
function inOrder(text: string, word: string): boolean {
  let at = 0;
  for (const letter of text) if (letter === word[at]) at++;
  return at === word.length;
}

/** A word with a slip of the keyboard in it: one in four letters, two in eight. */
function slip({ words }: Prepared, word: string): number {
  const allowed = word.length >= 8 ? 2 : word.length >= 4 ? 1 : 0;
  if (allowed === 0) return words.includes(word) ? 10 : 0;
  const least = Math.min(
    ...words.map((other) =>
      Math.min(distance(word, other, allowed), distance(word, other.slice(0, word.length), allowed) + 0.5),
    ),
  );
  return least <= allowed ? 10 - least : 0;
}

/** Letters to insert, leave out, replace or swap with their neighbour; more than `most` count as infinite. */
export function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return Infinity;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let value = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        value = Math.min(value, (before[j - 2] ?? 0) + 1);
      }
      next.push(value);
    }
    [before, row] = [row, next];
  }
  const result = row[b.length] ?? 0;
  return result <= most ? result : Infinity;
}
