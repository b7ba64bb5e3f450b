/** Random instead of constant: the node that draws a value for each sample, put before an argument. */
import { addOperator } from './actions';
import { bounds, type ArgumentDeclaration } from './catalogue';
import { type Value } from './document';
import type { Editor } from './editor';
import { NODE_SIZE, placeOf } from './layout';
import { asNumber, tidy } from './values';

export type Distribution = 'uniform' | 'normal' | 'choice' | 'coin';

const RANDOM_OPS: Record<Distribution, string> = {
  uniform: 'random.uniform',
  normal: 'random.normal',
  choice: 'random.uniform',
  coin: 'random.coin_flip',
};

/** First arguments of a random node, so that it varies around the present value. */
function randomArguments(
  argument: ArgumentDeclaration,
  value: Value,
  how: Distribution,
): Record<string, Value> {
  const first = Array.isArray(value) ? value[0] : value;
  const current = asNumber(first ?? null) ?? asNumber(argument.default ?? null);
  const { soft, minimum, maximum } = bounds(argument);
  const span = soft ? soft[1] - soft[0] : Math.max(1, Math.abs(current ?? 1) * 2);
  const middle = current ?? (soft ? (soft[0] + soft[1]) / 2 : 0);
  const clip = (x: number): number =>
    Math.min(maximum, Math.max(minimum, argument.type === 'int' ? Math.round(x) : tidy(x, span / 100)));
  const shape: Record<string, Value> =
    argument.list && (argument.length ?? 0) > 1 ? { shape: [argument.length as number] } : {};
  const dtype: Record<string, Value> =
    argument.type === 'int' || argument.type === 'bool' ? { dtype: 'INT32' } : {};
  switch (how) {
    case 'uniform':
      return { range: [clip(middle - span / 8), clip(middle + span / 8)], ...shape, ...dtype };
    case 'normal':
      return { mean: middle, stddev: tidy(span / 16, span / 100), ...shape };
    case 'choice':
      return { values: [clip(middle - span / 8), clip(middle), clip(middle + span / 8)], ...shape, ...dtype };
    case 'coin':
      return { probability: 0.5, ...shape };
  }
}

/** Distributions that make sense for an argument, the most used ones first. */
export function distributionsFor(editor: Editor, argument: ArgumentDeclaration): Distribution[] {
  const catalogue = editor.catalogue.get();
  const all: Distribution[] =
    argument.type === 'bool' || (argument.type === 'int' && argument.minimum === 0 && argument.maximum === 1)
      ? ['coin']
      : argument.type === 'int'
        ? ['uniform', 'choice', 'coin']
        : argument.type === 'float'
          ? ['uniform', 'normal', 'choice']
          : [];
  return all.filter((how) => catalogue?.operator(RANDOM_OPS[how]));
}

/** Puts a random node before an argument. */
export function makeRandom(
  editor: Editor,
  node: string,
  argument: ArgumentDeclaration,
  how: Distribution,
): string | null {
  const document = editor.history.document;
  const value = document.nodes[node]?.arguments?.[argument.name] ?? argument.default ?? null;
  const place = placeOf(document, node);
  const at = { x: place.x - NODE_SIZE.width - 44, y: place.y + 240 };
  return addOperator(editor, RANDOM_OPS[how], {
    at,
    name: `random_${argument.name}`,
    to: { node, argument: argument.name },
    arguments: randomArguments(argument, value, how),
    keepSelection: true,
  });
}
