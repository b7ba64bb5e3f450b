/** The catalogue of operators: its types, and search. */
import type {
  ArgumentDeclaration,
  CatalogueData,
  Family,
  Operator,
  OutputDeclaration,
  Value,
  Widget,
} from './protocol.generated';
import { search } from './search';

export type {
  ArgumentDeclaration,
  ArgumentType,
  CatalogueData,
  Family,
  InputDeclaration,
  Kind,
  Operator,
  OutputDeclaration,
  Widget,
} from './protocol.generated';

/** The outputs that a node has with its arguments, in order. */
export function outputsOf(
  operator: Operator | undefined,
  node: { arguments?: Record<string, unknown> } | undefined,
): OutputDeclaration[] {
  const given = (name: string): unknown =>
    node?.arguments?.[name] ?? operator?.arguments.find((argument) => argument.name === name)?.default;
  return (operator?.outputs ?? [])
    .filter(({ when }) => !when?.length || when.some((name) => given(name) === true))
    .flatMap((output) => {
      const names = output.each ? given(output.each) : null;
      return Array.isArray(names) && names.length > 0
        ? names.map((name) => ({ ...output, name: String(name) }))
        : [output];
    });
}

/** Arguments that the set and connected ones of a node exclude. */
export function excludedArguments(
  operator: Operator | undefined,
  node: { arguments?: Record<string, unknown>; connections?: Record<string, unknown> },
): Set<string> {
  const given = (name: string): boolean =>
    node.arguments?.[name] !== undefined || node.connections?.[name] !== undefined;
  const groups = (operator?.alternatives ?? []).flatMap((alternatives) =>
    alternatives.some((names) => names.some(given)) ? alternatives.filter((names) => !names.some(given)) : [],
  );
  return new Set(groups.flat());
}

const FALLBACK_COLORS: Record<string, string> = {
  readers: '#1f9d8b',
  decoders: '#c98a1b',
  geometry: '#4a7df0',
  color: '#cc4f8f',
  filters: '#8a63d2',
  tensor: '#6f7d8f',
  mixing: '#9a8b2f',
  reductions: '#5f8a9d',
  transforms: '#3d8fd1',
  boxes: '#d1693d',
  audio: '#2b9fb8',
  video: '#b0574f',
  random: '#4ba053',
  arithmetic: '#8c7a4f',
  io: '#1f9d8b',
  subgraph: '#7a5cc9',
};

export class Catalogue {
  private byName: Map<string, Operator>;
  private familyByName: Map<string, Family>;

  readonly data: CatalogueData;

  constructor(data: CatalogueData) {
    // Summaries are shown as plain text, without the marks of code.
    this.data = {
      ...data,
      operators: data.operators.map((each) => ({ ...each, summary: each.summary.replace(/`+/g, '') })),
    };
    this.byName = new Map(this.data.operators.map((operator) => [operator.name, operator]));
    this.familyByName = new Map(data.families.map((family) => [family.name, family]));
  }

  /** This catalogue with other operators beside its own. */
  with(operators: readonly Operator[]): Catalogue {
    return operators.length === 0
      ? this
      : new Catalogue({ ...this.data, operators: [...this.data.operators, ...operators] });
  }

  get operators(): Operator[] {
    return this.data.operators;
  }

  get families(): Family[] {
    return this.data.families;
  }

  operator(name: string | undefined): Operator | undefined {
    return name === undefined ? undefined : this.byName.get(name);
  }

  argument(op: string | undefined, name: string): ArgumentDeclaration | undefined {
    return this.operator(op)?.arguments.find((argument) => argument.name === name);
  }

  familyTitle(name: string): string {
    return this.familyByName.get(name)?.title ?? name;
  }

  color(family: string | undefined): string {
    if (family === undefined) return '#8a8f98';
    return this.familyByName.get(family)?.color ?? FALLBACK_COLORS[family] ?? '#8a8f98';
  }

  /** Operators that answer to a query, best first; an empty query gives all. */
  search(query: string, among: readonly Operator[] = this.data.operators): Operator[] {
    const found = search(query, among, (operator) => ({
      names: [operator.name.slice(operator.name.lastIndexOf('.') + 1), operator.title, operator.name],
      terms: operator.terms,
      groups: [operator.family, this.familyTitle(operator.family)],
      summary: operator.summary,
      rest: [...operator.arguments.map(({ name }) => name), operator.doc ?? ''],
      common: this.data.common?.includes(operator.name) ?? false,
    }));
    return query.trim() === ''
      ? found
      : [...found.filter(current), ...found.filter((each) => !current(each))];
  }
}

const current = ({ deprecated }: Operator): boolean => !deprecated;

/** The widget that shows an argument, from its declaration. */
export function widgetOf(argument: ArgumentDeclaration): Widget {
  if (argument.widget) return argument.widget;
  if (argument.choices && !argument.list) return 'choice';
  if (argument.list) return 'vector';
  switch (argument.type) {
    case 'bool':
      return 'switch';
    case 'float':
    case 'int':
      return bounds(argument).soft ? 'slider' : 'number';
    default:
      return 'text';
  }
}

export interface Bounds {
  /** The allowed range. */
  minimum: number;
  maximum: number;
  /** The slider's range, when it has both ends. */
  soft: [number, number] | null;
}

export function bounds(argument: ArgumentDeclaration): Bounds {
  const minimum = argument.minimum ?? -Infinity;
  const maximum = argument.maximum ?? Infinity;
  const low = argument.soft_minimum ?? argument.minimum;
  const high = argument.soft_maximum ?? argument.maximum;
  const soft: [number, number] | null = low != null && high != null && high > low ? [low, high] : null;
  return { minimum, maximum, soft };
}

/** The step of one press of an arrow key. */
export function stepOf(argument: ArgumentDeclaration): number {
  if (argument.step) return argument.step;
  if (argument.type === 'int') return 1;
  const { soft } = bounds(argument);
  if (!soft) return 0.1;
  return 10 ** Math.round(Math.log10((soft[1] - soft[0]) / 100));
}

/** The argument's value in a node: its own or the default. */
export function valueOf(argument: ArgumentDeclaration, values: Record<string, Value> | undefined): Value {
  const own = values?.[argument.name];
  return own === undefined ? (argument.default ?? null) : own;
}
