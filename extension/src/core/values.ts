/** Values as people read and write them: numbers with few digits, arithmetic in number fields, sizes and times. */
import type { ArgumentDeclaration } from './catalogue';
import type { Value } from './document';
import { t, tn } from './language';
import type { OutputPreview } from './protocol';

/** A number as it is shown: no more digits than tell something. */
export function formatNumber(value: number, digits = 4): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace(/\.?0+e/, 'e');
  return String(Number(value.toPrecision(digits)));
}

/** Numbers in documents may be the strings "inf", "-inf" and "nan". */
export function asNumber(value: Value | undefined): number | null {
  if (typeof value === 'number') return value;
  if (value === 'inf') return Infinity;
  if (value === '-inf') return -Infinity;
  if (value === 'nan') return NaN;
  return null;
}

/** Whether a switch is on: arguments that turn something on may be booleans or whole numbers. */
export function isOn(value: Value | undefined): boolean {
  return value === true || (typeof value === 'number' && value !== 0);
}

export function fromNumber(value: number): Value {
  return Number.isFinite(value) ? value : formatNumber(value);
}

export function formatValue(value: Value | undefined): string {
  if (value === undefined || value === null) return t('not set');
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.map(formatValue).join(', ');
  return specialText(value) ?? JSON.stringify(value);
}

function plain(value: Value | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** A value that JSON lacks, as text; null for any other value. Such values are shown and kept, never taken apart. */
export function specialText(value: Value | undefined): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const [entry, ...more] = Object.entries(value).filter(([key]) => key !== 'text');
  if (!entry?.[0].startsWith('$') || more.length > 0) return null;
  const [kind, held] = entry;
  const { text } = value;
  const inside = (held ?? {}) as Record<string, Value>;
  switch (kind) {
    case '$array': {
      const { dtype, shape } = inside;
      return `${formatDtype(plain(dtype))}[${Array.isArray(shape) ? shape.map(plain).join('×') : '…'}]`;
    }
    case '$number':
    case '$constant':
      return `${formatDtype(plain(inside['dtype']))} ${formatValue(inside['value'])}`;
    case '$bytes':
      return t('%1 bytes', Math.floor((plain(held).replace(/=+$/, '').length * 3) / 4));
    case '$dict':
      return t('dict of %1', Array.isArray(held) ? held.length : 0);
    case '$python':
      return typeof text === 'string'
        ? text
        : held === null
          ? t('a Python object without a name')
          : plain(held);
    default:
      return plain(held).replace(/^DALI\w+\./, '');
  }
}

export function formatTime(milliseconds: number): string {
  if (milliseconds < 0.095) return `${Math.round(milliseconds * 1000)} µs`;
  if (milliseconds < 9.95) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  return `${(milliseconds / 1000).toFixed(milliseconds < 9950 ? 1 : 0)} s`;
}

/** How long something still takes, in words. */
export function timeLeft(seconds: number): string {
  if (seconds < 90) return t('%1 s left', Math.ceil(seconds));
  if (seconds < 5400) return t('%1 min left', Math.round(seconds / 60));
  return t('%1 h left', (seconds / 3600).toFixed(1));
}

const DTYPES: Record<string, string> = {
  FLOAT: 'float32',
  FLOAT16: 'float16',
  FLOAT64: 'float64',
  BOOL: 'bool',
};

/** NVIDIA DALI's dtype names as numpy's. */
export function formatDtype(dtype: string): string {
  return DTYPES[dtype] ?? dtype.toLowerCase();
}

/** `8 × 224×224×3`, with a range where the samples differ. */
export function formatShape(shapes: readonly (readonly number[])[], batch: number): string {
  const first = shapes[0];
  if (!first) return `${batch} ×`;
  if (first.length === 0) return t('%1 × scalar', batch);
  return `${batch} × ${first.map((_, axis) => spanOf(shapes.map((shape) => shape[axis] ?? 0))).join('×')}`;
}

/** Bytes as people read them: 720 kB. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

function spanOf(values: readonly number[], format: (value: number) => string = String): string {
  const [low, high] = [format(Math.min(...values)), format(Math.max(...values))];
  return low === high ? low : `${low}–${high}`;
}

type Described = Pick<OutputPreview, 'kind' | 'layout' | 'shapes' | 'batch' | 'lost' | 'values'>;

/** A batch in words: "8 pictures, 300–512 × 384"; channels are named unless they are three. */
export function describeBatch({ kind, layout, shapes, batch, lost }: Described): string {
  const there = shapes.filter((_, sample) => lost?.[sample] == null);
  const missing = shapes.length - there.length;
  const text = describeSamples(kind, layout, there, batch - missing);
  return missing === 0 ? text : t('%1 (%2 failed)', text, missing);
}

function describeSamples(
  kind: Described['kind'],
  layout: string,
  shapes: readonly (readonly number[])[],
  count: number,
): string {
  const extent = (letter: string): string =>
    spanOf(shapes.map((shape) => shape[layout.indexOf(letter)] ?? 0));
  const first = shapes[0];
  if (!first) return tn('%1 sample', '%1 samples', count);
  if (kind === 'encoded') {
    const sizes = spanOf(
      shapes.map((shape) => shape[0] ?? 0),
      formatBytes,
    );
    return t('%1, %2', tn('%1 file', '%1 files', count), sizes);
  }
  if (layout.includes('H') && layout.includes('W')) {
    const colour = !layout.includes('C') || extent('C') === '3';
    const axes = ['W', 'H', ...(layout.includes('D') ? ['D'] : []), ...(colour ? [] : ['C'])];
    const size = axes.map(extent).join(' × ');
    if (layout.includes('D')) return t('%1, %2', tn('%1 volume', '%1 volumes', count), size);
    if (layout.includes('F')) {
      return t('%1 of %2 frames, %3', tn('%1 clip', '%1 clips', count), extent('F'), size);
    }
    const what = kind === 'mask' ? tn('%1 mask', '%1 masks', count) : tn('%1 picture', '%1 pictures', count);
    return t('%1, %2', what, size);
  }
  if (first.length === 0) return tn('%1 number', '%1 numbers', count);
  return formatShape(shapes, count);
}

/** A layout for people: axes without a name at its end, "F**", are left open. */
export function formatLayout(layout: string): string {
  const named = layout.replace(/\*+$/, '');
  return named === '' || named === layout ? named : `${named}…`;
}

/** Type and layout of an output: "float32 CHW". */
export function describeType({ dtype, layout }: Pick<OutputPreview, 'dtype' | 'layout'>): string {
  return `${formatDtype(dtype)} ${formatLayout(layout)}`.trim();
}

/** A long name with its middle left out. */
export function cutMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = Math.ceil((length - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

const CONSTANTS: Record<string, number> = { pi: Math.PI, e: Math.E, inf: Infinity, nan: NaN };
const FUNCTIONS: Record<string, (value: number) => number> = {
  sqrt: Math.sqrt,
  log: Math.log,
  exp: Math.exp,
  abs: Math.abs,
};

/** The value of an arithmetic expression such as `0.485*255` or `2**8`; null where it is none. */
export function evaluate(text: string): number | null {
  const tokens = text.match(/\*\*|[-+*/%()]|[a-z]+|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/gi) ?? [];
  if (tokens.join('') !== text.replace(/\s+/g, '') || tokens.length === 0) return null;
  let at = 0;
  const next = (): string | undefined => tokens[at];

  function primary(): number {
    const token = tokens[at++];
    if (token === undefined) throw new SyntaxError();
    if (token === '(') {
      const value = sum();
      if (tokens[at++] !== ')') throw new SyntaxError();
      return value;
    }
    if (/^[a-z]/i.test(token)) {
      const name = token.toLowerCase();
      const call = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
      if (call && next() === '(') return call(primary());
      const constant = Object.hasOwn(CONSTANTS, name) ? CONSTANTS[name] : undefined;
      if (constant === undefined) throw new SyntaxError();
      return constant;
    }
    const value = Number(token);
    if (Number.isNaN(value)) throw new SyntaxError();
    return value;
  }
  function power(): number {
    const base = primary();
    if (next() !== '**') return base;
    at++;
    return base ** unary();
  }
  function unary(): number {
    if (next() === '-') {
      at++;
      return -unary();
    }
    if (next() === '+') {
      at++;
      return unary();
    }
    return power();
  }
  function product(): number {
    let value = unary();
    for (;;) {
      const sign = next();
      if (sign !== '*' && sign !== '/' && sign !== '%') return value;
      at++;
      const other = unary();
      value = sign === '*' ? value * other : sign === '/' ? value / other : value % other;
    }
  }
  function sum(): number {
    let value = product();
    for (;;) {
      const sign = next();
      if (sign !== '+' && sign !== '-') return value;
      at++;
      value = sign === '+' ? value + product() : value - product();
    }
  }

  try {
    const value = sum();
    return at === tokens.length ? value : null;
  } catch {
    return null;
  }
}

/** Keeps a number in the allowed range and on whole numbers where only those are allowed. */
export function fit(value: number, argument: ArgumentDeclaration): number {
  const whole = argument.type === 'int' ? Math.round(value) : value;
  return Math.min(argument.maximum ?? Infinity, Math.max(argument.minimum ?? -Infinity, whole));
}

/** A number without the noise of binary fractions, to the precision of a step. */
export function tidy(value: number, step: number): number {
  if (!Number.isFinite(value)) return value;
  const digits = Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(Math.abs(step) || 1))));
  return Number(value.toFixed(digits));
}

/** The allowed range as words: "0 to 1", "0 or more". */
export function describeRange(argument: ArgumentDeclaration): string | null {
  const { minimum, maximum } = argument;
  if (minimum != null && maximum != null) return t('%1 to %2', formatNumber(minimum), formatNumber(maximum));
  if (minimum != null) return t('%1 or more', formatNumber(minimum));
  if (maximum != null) return t('%1 or less', formatNumber(maximum));
  return null;
}

/** A name in two parts: after the underscore or the full stop that is nearest to its middle. */
export function halves(name: string): [string, string] {
  const middle = name.length / 2;
  const ends = [...name.matchAll(/[_.](?=.)/g)].map(({ index }) => index + 1);
  const at = ends.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0] ?? name.length;
  return [name.slice(0, at), name.slice(at)];
}
