/** A graph as the text of a file: untouched parts keep their text, including spaces and the form of numbers. */
import { checkDocument, DocumentError, emptyDocument, type GraphDocument } from './document';
import { t } from './language';

const WIDTH = 110;
/** Objects whose entries stand on lines of their own, however short they are. */
const OPENED: readonly string[] = ['nodes', 'view'];

/** A JSON value with the place of its text. */
interface Span {
  value: unknown;
  start: number;
  end: number;
  entries?: Map<string, Span>;
  items?: Span[];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads a file's text; an empty one is a new graph. Throws a DocumentError about a text that holds no graph. */
export function readGraph(text: string): GraphDocument {
  if (text.trim() === '') return emptyDocument();
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new DocumentError(t('This text is not JSON: %1', (error as Error).message));
  }
  return checkDocument(data);
}

/**
 * The text of a file: values that fit on a line are written on one, so that a change of an argument changes one line.
 * Given the former text, unchanged values keep their text.
 */
export function writeGraph(document: GraphDocument, before = ''): string {
  const source = spansOf(before);
  if (source && equal(source.value, document)) return before;
  const step = /\n([ \t]+)"/.exec(before)?.[1] ?? '  ';
  const ending = source ? before.slice(source.end) : '\n';
  return new Writer(before, step).pretty(document, '', 0, source ?? undefined, OPENED) + (ending || '\n');
}

class Writer {
  constructor(
    private text: string,
    private step: string,
  ) {}

  pretty(value: unknown, indent: string, used: number, span?: Span, opened?: readonly string[]): string {
    const kept = span && equal(span.value, value) ? this.text.slice(span.start, span.end) : null;
    if (kept !== null && (!kept.includes('\n') || this.indentOf(span as Span) === indent)) return kept;
    const isList = Array.isArray(value);
    if ((!isList && !isObject(value)) || Object.keys(value).length === 0) return this.compact(value, span);
    if (!opened) {
      const line = this.compact(value, span);
      if (used + line.length <= WIDTH) return line;
    }
    const inner = indent + this.step;
    if (isList) {
      const parts = value.map(
        (item, index) => inner + this.pretty(item, inner, inner.length + 1, span?.items?.[index]),
      );
      return `[\n${parts.join(',\n')}\n${indent}]`;
    }
    const parts = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => {
        const label = `${inner}${JSON.stringify(key)}: `;
        const open = opened?.includes(key) ? [] : undefined;
        return label + this.pretty(item, inner, label.length + 1, span?.entries?.get(key), open);
      });
    return `{\n${parts.join(',\n')}\n${indent}}`;
  }

  /** JSON on one line, spaced as the Python side writes it. */
  private compact(value: unknown, span?: Span): string {
    if (Array.isArray(value))
      return `[${value.map((item, index) => this.compact(item, span?.items?.[index])).join(', ')}]`;
    if (!isObject(value))
      return span && Object.is(span.value, value)
        ? this.text.slice(span.start, span.end)
        : JSON.stringify(value ?? null);
    const entries = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => `${JSON.stringify(key)}: ${this.compact(item, span?.entries?.get(key))}`);
    return `{${entries.join(', ')}}`;
  }

  /** The white space that the line of a value begins with. */
  private indentOf({ start }: Span): string {
    const line = this.text.slice(this.text.lastIndexOf('\n', start - 1) + 1, start);
    return /^[ \t]*/.exec(line)?.[0] ?? '';
  }
}

/** Equality with order: two objects whose keys stand in another order have another text. */
function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equal(item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  const left = Object.keys(a);
  const right = Object.keys(b).filter((key) => b[key] !== undefined);
  return left.length === right.length && left.every((key, at) => key === right[at] && equal(a[key], b[key]));
}

/** Positions of the values of a JSON text; null for other texts. */
function spansOf(text: string): Span | null {
  let at = 0;
  const skip = (): void => {
    while (/[\s,:]/.test(text.charAt(at))) at += 1;
  };
  const scalar = (): Span => {
    const start = at;
    const found = /"(?:[^"\\]|\\.)*"|[^\s,:\]}]+/y;
    found.lastIndex = start;
    at = start + (found.exec(text)?.[0].length ?? 1);
    return { value: JSON.parse(text.slice(start, at)) as unknown, start, end: at };
  };
  const read = (): Span => {
    skip();
    const start = at;
    const first = text.charAt(at);
    if (first !== '{' && first !== '[') return scalar();
    at += 1;
    const entries = new Map<string, Span>();
    const items: Span[] = [];
    skip();
    while (text.charAt(at) !== '}' && text.charAt(at) !== ']') {
      if (first === '[') items.push(read());
      else entries.set(scalar().value as string, read());
      skip();
    }
    at += 1;
    if (first === '[') return { value: items.map(({ value }) => value), start, end: at, items };
    const value = Object.fromEntries([...entries].map(([key, span]) => [key, span.value]));
    return { value, start, end: at, entries };
  };
  try {
    JSON.parse(text);
    return read();
  } catch {
    return null;
  }
}

/** The one piece in which two texts differ, so that edits of others elsewhere stay. */
export function changedPart(before: string, after: string): { start: number; end: number; text: string } {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let tail = 0;
  while (tail < most - start && before[before.length - 1 - tail] === after[after.length - 1 - tail])
    tail += 1;
  return { start, end: before.length - tail, text: after.slice(start, after.length - tail) };
}
