/** Connection rules as pure functions; a refusal carries its reason and alternatives that fit. */
import {
  outputsOf,
  type ArgumentDeclaration,
  type Catalogue,
  type InputDeclaration,
  type Kind,
  type Operator,
} from './catalogue';
import {
  isArgument,
  parseEdge,
  upstream,
  type Device,
  type GraphDocument,
  type OutputRef,
  type Target,
  type Value,
} from './document';
import { formatDtype } from './values';
import { msg, t, tn } from './language';

/** Properties of an output that a preview has found. */
export interface KnownOutput {
  kind?: Kind | 'text';
  layout?: string;
  dtype?: string;
  dimensions?: number;
}

export interface Facts {
  document: GraphDocument;
  catalogue: Catalogue;
  known?: (source: OutputRef) => KnownOutput | undefined;
}

/** A change that would make a refused connection possible. */
export type Remedy =
  | { kind: 'insert'; title: string; op: string; arguments: Record<string, Value> }
  | { kind: 'device'; title: string; node: string; device: Device }
  | { kind: 'target'; title: string; target: Target };

export type Verdict =
  | { ok: true; /** The target has to move to this device. */ device?: Device }
  | { ok: false; reason: string; remedies: Remedy[] };

const KIND_WORDS: Record<Kind, string> = {
  image: msg('images'),
  tensor: msg('tensors'),
  encoded: msg('encoded files'),
  audio: msg('sound'),
  mask: msg('masks'),
  boxes: msg('boxes'),
  any: msg('anything'),
};

const ACCEPTED: Record<Kind, readonly Kind[]> = {
  any: ['image', 'tensor', 'encoded', 'audio', 'mask', 'boxes', 'any'],
  tensor: ['image', 'tensor', 'encoded', 'audio', 'mask', 'boxes', 'any'],
  image: ['image', 'mask', 'tensor', 'any'],
  mask: ['mask', 'image', 'tensor', 'any'],
  boxes: ['boxes', 'tensor', 'any'],
  audio: ['audio', 'tensor', 'any'],
  encoded: ['encoded', 'any'],
};

/** The input at an index; a variadic one stands for all that follow. */
export function inputAt(operator: Operator | undefined, index: number): InputDeclaration | undefined {
  const inputs = operator?.inputs ?? [];
  const input = inputs[index];
  if (input) return input;
  const last = inputs[inputs.length - 1];
  return last?.variadic ? last : undefined;
}

/** Number of input ports that a node shows: declared ones, used ones, and a free one where more are allowed. */
export function inputCount(operator: Operator | undefined, used: number): number {
  const declared = operator?.inputs.length ?? 0;
  const more = operator?.inputs[declared - 1]?.variadic ? 1 : 0;
  return Math.max(declared, used + more);
}

export function kindOf(facts: Facts, source: OutputRef, depth = 0): Kind {
  const node = facts.document.nodes[source.node];
  const operator = facts.catalogue.operator(node?.op);
  const outputs = outputsOf(operator, node);
  const declared = outputs[source.output]?.kind ?? outputs[0]?.kind ?? 'any';
  if (declared !== 'any' || depth > 50) return declared;
  const first = node?.inputs?.[0];
  return first == null ? 'any' : kindOf(facts, parseEdge(first), depth + 1);
}

/** The layout of an output: from a preview, else from the declaration and the arguments. */
export function layoutOf(facts: Facts, source: OutputRef, depth = 0): string | undefined {
  const seen = facts.known?.(source)?.layout;
  if (seen) return seen;
  const node = facts.document.nodes[source.node];
  const operator = facts.catalogue.operator(node?.op);
  if (!node || !operator || depth > 50) return undefined;
  const declared = outputsOf(operator, node)[source.output]?.layout;
  if (declared) return declared;
  const argument = operator.arguments.find(({ name }) => name === 'output_layout');
  if (argument) {
    const value = node.arguments?.['output_layout'] ?? argument.default;
    if (typeof value === 'string' && value !== '') return value;
  }
  if (node.op === 'transpose' || node.op === 'reshape' || node.op === 'reinterpret') return undefined;
  const first = node.inputs?.[0];
  return first == null ? undefined : layoutOf(facts, parseEdge(first), depth + 1);
}

/** Whether the output lies on the GPU. */
function onGpu(document: GraphDocument, source: OutputRef): boolean {
  const device = document.nodes[source.node]?.device;
  return device === 'gpu' || device === 'mixed';
}

const sourceWords = (facts: Facts, source: OutputRef): string => {
  const node = facts.document.nodes[source.node];
  const name = outputsOf(facts.catalogue.operator(node?.op), node)[source.output]?.name;
  return source.output > 0 && name ? `${name} of ${source.node}` : source.node;
};

export function canConnect(facts: Facts, source: OutputRef, target: Target): Verdict {
  const { document, catalogue } = facts;
  const from = document.nodes[source.node];
  const to = document.nodes[target.node];
  if (!from || !to) return refuse(t('One of the two nodes is not there any more.'));
  if (source.node === target.node) return refuse(t('A node cannot feed itself.'));
  if (upstream(document, source.node).has(target.node)) {
    return refuse(t('That would make a loop: %1 already feeds %2.', target.node, source.node));
  }
  // An operator that is not known here is left to the session to judge.
  const operator = catalogue.operator(to.op);
  if (!operator) return { ok: true };
  return isArgument(target)
    ? connectArgument(facts, source, target, operator)
    : connectInput(facts, source, target, operator);
}

function connectArgument(
  facts: Facts,
  source: OutputRef,
  target: { node: string; argument: string },
  operator: Operator,
): Verdict {
  const argument = operator.arguments.find(({ name }) => name === target.argument);
  if (!argument) return { ok: true };
  if (!argument.tensor) {
    const others = operator.arguments.filter(({ tensor }) => tensor);
    const fitting = others.slice(0, 4).map(({ name }) => name);
    return refuse(
      sentences(
        t('%1 of %2 is one value for the whole run, not one per sample.', argument.name, target.node),
        fitting.length > 0 && t('These can be connected: %1.', fitting.join(', ')),
      ),
      others
        .filter((other) => argumentTakes(facts, source, other))
        .slice(0, 2)
        .map(({ name }) => ({
          kind: 'target',
          title: t('Connect %1', name),
          target: { node: target.node, argument: name },
        })),
    );
  }
  const kind = kindOf(facts, source);
  if (!argumentTakes(facts, source, argument)) {
    const takes = argument.list
      ? t('numbers')
      : argument.type === 'int'
        ? t('one whole number')
        : t('one number');
    return refuse(
      t(
        '%1 gives %2; %3 takes %4 per sample, such as random.uniform gives.',
        sourceWords(facts, source),
        t(KIND_WORDS[kind]),
        argument.name,
        takes,
      ),
      mainInput(facts, source, target.node),
    );
  }
  if (onGpu(facts.document, source)) {
    const device: Remedy = {
      kind: 'device',
      title: t('Run %1 on the CPU', source.node),
      node: source.node,
      device: 'cpu',
    };
    const devices = facts.catalogue.operator(facts.document.nodes[source.node]?.op)?.devices ?? [];
    return refuse(
      t('%1 is on the GPU; arguments are read on the CPU.', source.node),
      devices.includes('cpu') ? [device] : [],
    );
  }
  return { ok: true };
}

function argumentTakes(facts: Facts, source: OutputRef, argument: ArgumentDeclaration): boolean {
  const kind = kindOf(facts, source);
  if (kind !== 'tensor' && kind !== 'any' && kind !== 'boxes') return false;
  const known = facts.known?.(source);
  if (known?.dimensions === undefined) return true;
  const most = (argument.list ? 2 : 1) + (argument.per_frame ? 1 : 0);
  return known.dimensions <= most;
}

function mainInput(facts: Facts, source: OutputRef, node: string): Remedy[] {
  const target: Target = { node, input: 0 };
  const operator = facts.catalogue.operator(facts.document.nodes[node]?.op);
  const input = operator?.inputs[0];
  if (!input || !ACCEPTED[input.kind].includes(kindOf(facts, source))) return [];
  return [{ kind: 'target', title: t('Connect %1', input.name), target }];
}

function connectInput(
  facts: Facts,
  source: OutputRef,
  target: { node: string; input: number },
  operator: Operator,
): Verdict {
  const { catalogue } = facts;
  const input = inputAt(operator, target.input);
  if (!input) {
    return refuse(
      operator.inputs.length === 0
        ? t('%1 takes no input: it makes its own data.', operator.name)
        : tn('%2 takes %1 input.', '%2 takes %1 inputs.', operator.inputs.length, operator.name),
    );
  }
  const name = sourceWords(facts, source);
  const kind = kindOf(facts, source);
  if (!ACCEPTED[input.kind].includes(kind)) {
    const between = converters(catalogue, kind, input.kind);
    const first = between[0];
    return refuse(
      sentences(
        t('%1 gives %2; %3 takes %4.', name, t(KIND_WORDS[kind]), target.node, t(KIND_WORDS[input.kind])),
        first && t('Put %1 between them.', first.name),
      ),
      between
        .slice(0, 2)
        .map(({ name: op }) => ({ kind: 'insert', title: t('Add %1', op), op, arguments: {} })),
    );
  }
  const known = facts.known?.(source);
  const layout = layoutOf(facts, source);
  if (input.layouts && input.layouts.length > 0 && layout && !input.layouts.includes(layout)) {
    const wanted = input.layouts.find((candidate) => sameAxes(candidate, layout));
    const transpose = catalogue.operator('transpose');
    const remedies: Remedy[] = [];
    if (wanted && transpose) {
      const perm = [...wanted].map((axis) => layout.indexOf(axis));
      remedies.push({ kind: 'insert', title: t('Add transpose'), op: 'transpose', arguments: { perm } });
    }
    return refuse(
      sentences(
        t(
          '%1 gives %2; %3 takes %4.',
          source.node,
          known?.dtype ? `${layout} ${formatDtype(known.dtype)}` : layout,
          target.node,
          orList(input.layouts),
        ),
        wanted && t('Put %1 before %2, or add transpose.', target.node, source.node),
      ),
      remedies,
    );
  }
  if (input.layouts && input.layouts.length > 0 && !layout && known?.dimensions !== undefined) {
    const dimensions = known.dimensions;
    if (!input.layouts.some((candidate) => candidate.length === dimensions)) {
      return refuse(
        t(
          '%1 gives %2; %3 takes %4.',
          name,
          dimensions === 0 ? t('single numbers') : tn('%1 dimension', '%1 dimensions', dimensions),
          target.node,
          input.kind === 'image' ? imageWords(input.layouts) : orList(input.layouts),
        ),
      );
    }
  }
  if (input.dtypes && input.dtypes.length > 0 && known?.dtype && !input.dtypes.includes(known.dtype)) {
    const dtype = input.dtypes[0] as string;
    const cast = catalogue.operator('cast');
    return refuse(
      t(
        '%1 gives %2; %3 takes %4.',
        name,
        formatDtype(known.dtype),
        target.node,
        orList(input.dtypes.map(formatDtype)),
      ),
      cast
        ? [
            {
              kind: 'insert',
              title: t('Add cast to %1', formatDtype(dtype)),
              op: 'cast',
              arguments: { dtype },
            },
          ]
        : [],
    );
  }
  return checkDevice(facts, source, target.node, operator);
}

function checkDevice(facts: Facts, source: OutputRef, target: string, operator: Operator): Verdict {
  const device = facts.document.nodes[target]?.device ?? 'cpu';
  if (!onGpu(facts.document, source) || device === 'gpu') return { ok: true };
  if (operator.devices.includes('gpu')) return { ok: true, device: 'gpu' };
  const from = facts.catalogue.operator(facts.document.nodes[source.node]?.op);
  return refuse(
    t('%1 is on the GPU; %2 runs on the CPU only.', source.node, operator.name),
    from?.devices.includes('cpu')
      ? [{ kind: 'device', title: t('Run %1 on the CPU', source.node), node: source.node, device: 'cpu' }]
      : [],
  );
}

/** Sentences joined, without the ones that do not apply. */
function sentences(...parts: (string | false | undefined)[]): string {
  return parts.filter(Boolean).join(' ');
}

function refuse(reason: string, remedies: Remedy[] = []): Verdict {
  return { ok: false, reason, remedies };
}

function sameAxes(a: string, b: string): boolean {
  return [...a].sort().join('') === [...b].sort().join('');
}

export function imageWords(layouts: readonly string[]): string {
  return layouts.some((layout) => layout.includes('F')) ? t('images or video') : t('images');
}

/** "a, b or c". */
export function orList(words: readonly string[]): string {
  if (words.length <= 1) return words[0] ?? '';
  return t('%1 or %2', words.slice(0, -1).join(', '), words[words.length - 1]);
}

/** Operators that make the one kind of the other. */
function converters(catalogue: Catalogue, from: Kind, to: Kind): Operator[] {
  return catalogue.operators
    .filter(
      ({ inputs, outputs, deprecated }) =>
        !deprecated && inputs[0]?.kind === from && outputs[0]?.kind === to && from !== to,
    )
    .sort((a, b) => a.name.length - b.name.length);
}

/** The operators that can take an output, with the input or argument that takes it; image work first. */
export function operatorsFor(
  facts: Facts,
  source: OutputRef,
): { operator: Operator; port: number | string }[] {
  const kind = kindOf(facts, source);
  const layout = layoutOf(facts, source);
  const found: { operator: Operator; port: number | string; rank: number }[] = [];
  for (const operator of facts.catalogue.operators) {
    const input = operator.inputs[0];
    if (input && ACCEPTED[input.kind].includes(kind)) {
      const wrong = Boolean(layout && input.layouts?.length && !input.layouts.includes(layout));
      if (wrong) continue;
      found.push({ operator, port: 0, rank: (input.kind === kind ? 0 : 1) + (operator.deprecated ? 9 : 0) });
      continue;
    }
    const argument = operator.arguments.find((each) => each.tensor && argumentTakes(facts, source, each));
    if (argument) found.push({ operator, port: argument.name, rank: 3 });
  }
  return found.sort((a, b) => a.rank - b.rank).map(({ operator, port }) => ({ operator, port }));
}

/** The operators whose first output can be connected to a target. */
export function operatorsBefore(facts: Facts, target: Target): { operator: Operator; output: number }[] {
  const operator = facts.catalogue.operator(facts.document.nodes[target.node]?.op);
  const found: { operator: Operator; output: number; rank: number }[] = [];
  for (const candidate of facts.catalogue.operators) {
    outputsOf(candidate, undefined).forEach((output, index) => {
      if (found.some((entry) => entry.operator === candidate)) return;
      if (isArgument(target)) {
        const numeric = output.kind === 'tensor' || (output.kind === 'any' && candidate.inputs.length === 0);
        if (numeric) found.push({ operator: candidate, output: index, rank: candidate.random ? 0 : 2 });
        return;
      }
      const input = inputAt(operator, target.input);
      if (!input || !ACCEPTED[input.kind].includes(output.kind)) return;
      found.push({ operator: candidate, output: index, rank: output.kind === input.kind ? 0 : 1 });
    });
  }
  return found
    .sort((a, b) => a.rank - b.rank)
    .map(({ operator: found, output }) => ({ operator: found, output }));
}

/** Places of a node where a link may end, best first: free inputs, then inputs in use, then arguments. */
export function targetsOn(facts: Facts, source: OutputRef, node: string): Target[] {
  const to = facts.document.nodes[node];
  const operator = facts.catalogue.operator(to?.op);
  if (!to || !operator) return [];
  const count = inputCount(operator, to.inputs?.length ?? 0);
  const inputs: Target[] = Array.from({ length: count }, (_, input) => ({ node, input }));
  const free = inputs.filter((target) => !isArgument(target) && to.inputs?.[target.input] == null);
  const used = inputs.filter((target) => !free.includes(target));
  const named: Target[] = operator.arguments
    .filter(({ tensor }) => tensor)
    .sort((a, b) => Number(b.important ?? false) - Number(a.important ?? false))
    .map(({ name }) => ({ node, argument: name }));
  return [...free, ...used, ...named].filter((target) => canConnect(facts, source, target).ok);
}
