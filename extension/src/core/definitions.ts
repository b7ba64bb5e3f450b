/**
 * Definitions of sub-graphs: nodes of a document that have a name and are used like an operator. A node with the
 * operator `subgraph.NAME` is an instance.
 */
import {
  outputsOf,
  type ArgumentDeclaration,
  type Catalogue,
  type InputDeclaration,
  type Operator,
  type OutputDeclaration,
} from './catalogue';
import { inputAt } from './connect';
import {
  freeName,
  links,
  parseEdge,
  type GraphDocument,
  type GraphNode,
  type Subgraph,
  type SubgraphArgument,
} from './document';
import { without } from './edits/rewriting';
import { t, tn } from './language';
import { FRAME, placeOf, type Size } from './layout';

export const PREFIX = 'subgraph.';
export const FAMILY = 'subgraph';

/** The name of the definition that an operator stands for, or null. */
export function definitionName(op: string | undefined): string | null {
  return op?.startsWith(PREFIX) ? op.slice(PREFIX.length) : null;
}

export function definitionOf(document: GraphDocument, op: string | undefined): Subgraph | undefined {
  const name = definitionName(op);
  return name === null ? undefined : document.subgraphs?.[name];
}

/** The nodes that are instances of a definition. */
export function instancesOf(document: GraphDocument, name: string): string[] {
  return Object.keys(document.nodes).filter((id) => document.nodes[id]?.op === PREFIX + name);
}

/** A definition as a document of its own: only nodes, their links and where they lie. */
export function inside(definition: Subgraph, document: Partial<GraphDocument>): GraphDocument {
  return {
    format: '',
    version: 1,
    pipeline: {},
    nodes: definition.nodes,
    outputs: definition.outputs,
    view: definition.view ?? { nodes: {}, notes: [], groups: [] },
    ...(document.subgraphs ? { subgraphs: document.subgraphs } : {}),
  };
}

/** The operators that the definitions of a document are, for the catalogue. */
export function subgraphOperators(subgraphs: Record<string, Subgraph>, catalogue: Catalogue): Operator[] {
  const made = new Map<string, Operator | null>();
  const operator = (op: string): Operator | undefined => {
    const name = definitionName(op);
    if (name === null) return catalogue.operator(op);
    if (!made.has(name)) {
      made.set(name, null); // one that contains itself has no ports
      const definition = subgraphs[name];
      if (definition) made.set(name, operatorOf(name, definition, operator));
    }
    return made.get(name) ?? undefined;
  };
  return Object.keys(subgraphs)
    .map((name) => operator(PREFIX + name))
    .filter((each) => each !== undefined);
}

function operatorOf(
  name: string,
  definition: Subgraph,
  operator: (op: string) => Operator | undefined,
): Operator {
  const document = inside(definition, {});
  const all = links(document);
  const inputs = definition.inputs.map((input): InputDeclaration => {
    const target = all.find(({ source }) => source.node === input)?.target;
    const op = operator(document.nodes[target?.node ?? '']?.op ?? '');
    const declared = target && 'input' in target ? inputAt(op, target.input) : undefined;
    return { ...declared, name: input, kind: declared?.kind ?? 'any', optional: false, variadic: false };
  });
  const names: Record<string, true> = {};
  const outputs = definition.outputs.map((reference): OutputDeclaration => {
    const { node, output } = parseEdge(reference);
    const declared = outputsOf(operator(definition.nodes[node]?.op ?? ''), definition.nodes[node])[output];
    const base = (declared?.name ?? 'output') === 'output' ? node : (declared?.name ?? node);
    const own = freeName(names, base);
    names[own] = true;
    const kind = definition.nodes[node] ? kindInside(definition, node, output, operator) : 'any';
    return { name: own, kind, layout: declared?.layout ?? null, dtype: declared?.dtype ?? null };
  });
  const parameters = Object.entries(definition.arguments ?? {}).map(
    ([parameter, targets]): ArgumentDeclaration => {
      const [first] = targets;
      const node = definition.nodes[first?.node ?? ''];
      const declared = operator(node?.op ?? '')?.arguments.find((each) => each.name === first?.argument);
      const value = node?.arguments?.[first?.argument ?? ''];
      return {
        ...(declared ?? { type: 'any' }),
        name: parameter,
        required: false,
        important: true,
        advanced: false,
        ...(value === undefined ? {} : { default: value }),
      };
    },
  );
  const count = Object.keys(definition.nodes).length;
  return {
    name: PREFIX + name,
    family: FAMILY,
    title: name,
    summary: definition.summary ?? tn('A sub-graph of %1 node.', 'A sub-graph of %1 nodes.', count),
    devices: ['cpu', 'gpu', 'mixed'],
    inputs,
    outputs,
    arguments: parameters,
    added: true,
    terms: [...new Set(Object.values(definition.nodes).map(({ op }) => op))],
  };
}

/** The kind of an output inside of a definition; `any` where it is that of an input. */
function kindInside(
  definition: Subgraph,
  node: string,
  output: number,
  operator: (op: string) => Operator | undefined,
  depth = 0,
): OutputDeclaration['kind'] {
  const entry = definition.nodes[node];
  const kind = outputsOf(operator(entry?.op ?? ''), entry)[output]?.kind ?? 'any';
  const first = entry?.inputs?.[0];
  if (kind !== 'any' || first == null || depth > 50) return kind;
  const source = parseEdge(first);
  return kindInside(definition, source.node, source.output, operator, depth + 1);
}

/** Whether an argument of a node inside is offered as one of the sub-graph. */
export function isOffered(definition: Subgraph, node: string, argument: string): boolean {
  return parameterOf(definition.arguments ?? {}, node, argument) !== undefined;
}

export function parameterOf(
  parameters: Record<string, SubgraphArgument[]>,
  node: string,
  argument: string,
): string | undefined {
  return Object.keys(parameters).find((name) =>
    parameters[name]?.some((target) => target.node === node && target.argument === argument),
  );
}

/** Offers an argument of a node inside as one of the sub-graph, or no longer; instances lose what they gave it. */
export function offer(
  document: GraphDocument,
  name: string,
  node: string,
  argument: string,
  offered: boolean,
): GraphDocument {
  const definition = document.subgraphs?.[name];
  if (!definition || isOffered(definition, node, argument) === offered) return document;
  const before = definition.arguments ?? {};
  if (offered) {
    const parameter = freeName(
      { ...before },
      Object.hasOwn(before, argument) ? `${node}_${argument}` : argument,
    );
    return withDefinition(document, name, {
      ...definition,
      arguments: { ...before, [parameter]: [{ node, argument }] },
    });
  }
  const parameter = parameterOf(before, node, argument) as string;
  const left = (before[parameter] ?? []).filter((each) => each.node !== node || each.argument !== argument);
  const after = left.length > 0 ? { ...before, [parameter]: left } : without(before, new Set([parameter]));
  const next = withDefinition(document, name, { ...definition, arguments: after });
  if (left.length > 0) return next;
  const strip = (entry: GraphNode): GraphNode =>
    entry.op !== PREFIX + name
      ? entry
      : {
          ...entry,
          arguments: without(entry.arguments ?? {}, new Set([parameter])),
          connections: without(entry.connections ?? {}, new Set([parameter])),
        };
  return mapNodes(next, strip);
}

function withDefinition(document: GraphDocument, name: string, definition: Subgraph): GraphDocument {
  return { ...document, subgraphs: { ...document.subgraphs, [name]: definition } };
}

/** A document with these definitions; one without any has no word of them. */
function withDefinitions(document: GraphDocument, subgraphs: Record<string, Subgraph>): GraphDocument {
  const next: GraphDocument = { ...document, subgraphs };
  if (Object.keys(subgraphs).length === 0) delete next.subgraphs;
  return next;
}

/**
 * New nodes that belong to a sub-graph that stands open: they are linked to a node in it, or lie within its frame.
 */
export function joinOpen(
  before: GraphDocument,
  document: GraphDocument,
  sizeOf: (id: string) => Size,
): GraphDocument {
  const open = document.view.groups.filter(({ subgraph }) => subgraph !== undefined);
  if (open.length === 0) return document;
  const placed = new Set(document.view.groups.flatMap(({ nodes }) => nodes));
  const fresh = Object.keys(document.nodes).filter((id) => !before.nodes[id] && !placed.has(id));
  if (fresh.length === 0) return document;
  const all = links(document);
  const joined = open.map((group) => {
    const members = new Set(group.nodes);
    const boxes = group.nodes.map((id) => ({ ...placeOf(document, id), ...sizeOf(id) }));
    const within = (id: string): boolean => {
      const { x, y } = placeOf(document, id);
      return (
        x >= Math.min(...boxes.map((box) => box.x)) - FRAME.pad &&
        y >= Math.min(...boxes.map((box) => box.y)) - FRAME.pad - FRAME.title &&
        x <= Math.max(...boxes.map((box) => box.x + box.width)) &&
        y <= Math.max(...boxes.map((box) => box.y + box.height))
      );
    };
    const linked = (id: string): boolean =>
      all.some(
        ({ source, target }) =>
          (source.node === id && members.has(target.node)) ||
          (target.node === id && members.has(source.node)),
      );
    const more = fresh.filter((id) => linked(id) || within(id));
    return { ...group, nodes: [...group.nodes, ...more] };
  });
  const groups = document.view.groups.map((group) => joined.find(({ id }) => id === group.id) ?? group);
  return { ...document, view: { ...document.view, groups } };
}

/** Changes all nodes, those of definitions too. */
function mapNodes(document: GraphDocument, change: (node: GraphNode) => GraphNode): GraphDocument {
  const all = (nodes: Record<string, GraphNode>): Record<string, GraphNode> =>
    Object.fromEntries(Object.entries(nodes).map(([id, node]) => [id, change(node)]));
  const subgraphs = Object.fromEntries(
    Object.entries(document.subgraphs ?? {}).map(([name, each]) => [
      name,
      { ...each, nodes: all(each.nodes) },
    ]),
  );
  return { ...document, nodes: all(document.nodes), ...(document.subgraphs ? { subgraphs } : {}) };
}

/** Removes a definition that nothing uses, or gives null. */
export function removeDefinition(document: GraphDocument, name: string): GraphDocument | null {
  const definitions = document.subgraphs ?? {};
  const nodes = [document.nodes, ...Object.values(definitions).map((each) => each.nodes)];
  const used = nodes.some((each) => Object.values(each).some(({ op }) => op === PREFIX + name));
  if (used || document.view.groups.some(({ subgraph }) => subgraph?.name === name)) return null;
  return withDefinitions(document, without(definitions, new Set([name])));
}

/** Another name for a definition, everywhere. */
export function renameDefinition(document: GraphDocument, name: string, wanted: string): GraphDocument {
  if (!document.subgraphs?.[name] || Object.hasOwn(document.subgraphs, wanted)) return document;
  const renamed = Object.fromEntries(
    Object.entries(document.subgraphs).map(([key, each]) => [key === name ? wanted : key, each]),
  );
  return mapNodes({ ...document, subgraphs: renamed }, (node) =>
    node.op === PREFIX + name ? { ...node, op: PREFIX + wanted } : node,
  );
}

/** Why a text cannot be the name of a definition, or null. */
export function definitionNameProblem(
  document: GraphDocument,
  name: string,
  current?: string,
): string | null {
  if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name))
    return t('The name of a sub-graph is that of a function: letters, digits and underscores.');
  if (name !== current && Object.hasOwn(document.subgraphs ?? {}, name))
    return t('Another sub-graph is named "%1".', name);
  return null;
}

/** The definitions that nodes use, also those inside of others. */
export function usedDefinitions(
  nodes: Record<string, GraphNode>,
  subgraphs: Record<string, Subgraph>,
): Record<string, Subgraph> {
  const found: Record<string, Subgraph> = {};
  const pending = Object.values(nodes);
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const name = definitionName(node.op);
    const definition = name === null ? undefined : subgraphs[name];
    if (name === null || !definition || found[name]) continue;
    found[name] = definition;
    pending.push(...Object.values(definition.nodes));
  }
  return found;
}

/** Definitions that come from elsewhere: the same ones are shared, others with a name that is taken get a free one. */
export function takeDefinitions(
  document: GraphDocument,
  subgraphs: Record<string, Subgraph>,
): { document: GraphDocument; op: (op: string) => string } {
  const here = document.subgraphs ?? {};
  const names = new Map<string, string>();
  const taken: Record<string, unknown> = { ...here };
  for (const [name, definition] of Object.entries(subgraphs)) {
    if (JSON.stringify(here[name]) === JSON.stringify(definition)) continue;
    const free = freeName(taken, name);
    taken[free] = true;
    names.set(name, free);
  }
  const op = (before: string): string => {
    const name = definitionName(before);
    return name === null ? before : PREFIX + (names.get(name) ?? name);
  };
  if (names.size === 0) return { document, op };
  const added = [...names].map(([name, free]): [string, Subgraph] => {
    const definition = subgraphs[name] as Subgraph;
    const nodes = Object.entries(definition.nodes).map(([id, node]): [string, GraphNode] => [
      id,
      { ...node, op: op(node.op) },
    ]);
    return [free, { ...definition, nodes: Object.fromEntries(nodes) }];
  });
  return { document: { ...document, subgraphs: { ...here, ...Object.fromEntries(added) } }, op };
}
