/**
 * Definitions of sub-graphs: nodes of a document that have a name and are used like an operator. A node with the
 * operator `subgraph.NAME` is an instance. One that is edited stands open as a group of nodes, with the definition's
 * ports; closing it writes the definition, which all other instances follow.
 */
import type {
  ArgumentDeclaration,
  Catalogue,
  InputDeclaration,
  Operator,
  OutputDeclaration,
} from './catalogue';
import { inputAt, inputCount, kindOf } from './connect';
import {
  bareEdge,
  formatEdge,
  freeName,
  links,
  parseEdge,
  upstream,
  type EdgeRef,
  type GraphDocument,
  type GraphNode,
  type Group,
  type OutputRef,
  type Subgraph,
  type SubgraphArgument,
} from './document';
import { mapEdges, trimmed, without } from './edits/rewriting';
import { t, tn } from './language';
import { cornerOf, FRAME, placeOf, type Size } from './layout';

export const PREFIX = 'subgraph.';
export const FAMILY = 'subgraph';
/** How far the nodes of an open sub-graph lie inside of its frame, whose corner is that of the closed one. */
const FRAME_EDGE = { x: FRAME.pad, y: FRAME.pad + FRAME.title };

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
function inside(definition: Subgraph, document: Partial<GraphDocument>): GraphDocument {
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
    const declared = operator(definition.nodes[node]?.op ?? '')?.outputs[output];
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
  const kind = operator(entry?.op ?? '')?.outputs[output]?.kind ?? 'any';
  const first = entry?.inputs?.[0];
  if (kind !== 'any' || first == null || depth > 50) return kind;
  const source = parseEdge(first);
  return kindInside(definition, source.node, source.output, operator, depth + 1);
}

/** Where an argument of a node inside is offered as one of the sub-graph. */
export function isOffered(definition: Subgraph, node: string, argument: string): boolean {
  return parameterOf(definition.arguments ?? {}, node, argument) !== undefined;
}

function parameterOf(
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
export function withDefinitions(document: GraphDocument, subgraphs: Record<string, Subgraph>): GraphDocument {
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

/** The ports of a definition that stands open, by the nodes that they belong to now. */
interface Interface {
  inputs: { name: string; targets: string[] }[];
  parameters: Record<string, SubgraphArgument[]>;
  outputs: EdgeRef[];
  /** Outputs of nodes that other nodes inside take. */
  taken: ReadonlySet<EdgeRef>;
}

function interfaceOf(definition: Subgraph, names: Readonly<Record<string, string>>): Interface {
  const here = new Map(Object.entries(names).map(([id, inner]) => [inner, id]));
  const inputs = definition.inputs.map((name) => ({
    name,
    targets: Object.entries(definition.nodes).flatMap(([inner, node]) =>
      (node.inputs ?? []).flatMap((reference, index) =>
        reference !== null && parseEdge(reference).node === name ? [`${here.get(inner) ?? ''}:${index}`] : [],
      ),
    ),
  }));
  const parameters = Object.entries(definition.arguments ?? {}).map(([parameter, targets]) => [
    parameter,
    targets.map(({ node, argument }) => ({ node: here.get(node) ?? '', argument })),
  ]);
  const outer = (source: OutputRef): EdgeRef => formatEdge({ ...source, node: here.get(source.node) ?? '' });
  return {
    inputs,
    parameters: Object.fromEntries(parameters) as Interface['parameters'],
    outputs: definition.outputs.map((reference) => outer(parseEdge(reference))),
    taken: new Set(links(inside(definition, {})).map(({ source }) => outer(source))),
  };
}

/** A definition whose nodes have other names. */
function renamedInside(definition: Subgraph, nameOf: (id: string) => string): Subgraph {
  const moved = (reference: EdgeRef): EdgeRef => {
    const source = parseEdge(reference);
    return definition.nodes[source.node] ? formatEdge({ ...source, node: nameOf(source.node) }) : reference;
  };
  const renamed = mapEdges(inside(definition, {}), moved);
  const keys = <T>(record: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(record).map(([id, each]) => [nameOf(id), each]));
  const parameters = Object.entries(definition.arguments ?? {}).map(([parameter, targets]) => [
    parameter,
    targets.map(({ node, argument }) => ({ node: nameOf(node), argument })),
  ]);
  return {
    ...definition,
    arguments: Object.fromEntries(parameters) as Interface['parameters'],
    nodes: keys(renamed.nodes),
    outputs: definition.outputs.map(moved),
    view: { nodes: keys(renamed.view.nodes), notes: [], groups: [] },
  };
}

export interface MadeSubgraph {
  document: GraphDocument;
  id: string;
}

/** A node that lies between others: fed by some of them, and feeding some of them. */
function between(document: GraphDocument, members: ReadonlySet<string>): string | null {
  const all = links(document);
  const reached = (from: ReadonlySet<string>, forward: boolean): Set<string> => {
    const found = new Set<string>();
    const pending = [...from];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      for (const { source, target } of all) {
        const [here, there] = forward ? [source.node, target.node] : [target.node, source.node];
        if (here !== at || members.has(there) || found.has(there)) continue;
        found.add(there);
        pending.push(there);
      }
    }
    return found;
  };
  const after = reached(members, true);
  const before = reached(members, false);
  return [...after].find((id) => before.has(id)) ?? null;
}

/** Why nodes cannot become a sub-graph, or null. */
export function subgraphProblem(document: GraphDocument, ids: readonly string[]): string | null {
  const outside = between(document, new Set(ids));
  return outside === null
    ? null
    : t('"%1" lies between these nodes: select it too, so that they can be one.', outside);
}

/** Puts an instance of a definition made of nodes in their place. */
export function makeSubgraph(
  document: GraphDocument,
  catalogue: Catalogue,
  ids: readonly string[],
  name: string,
  group?: Group,
): MadeSubgraph {
  const names = group?.subgraph?.names ?? {};
  const old = group && document.subgraphs?.[name];
  const open = old && interfaceOf(old, names);
  const before = (id: string): GraphNode | undefined => old?.nodes[names[id] ?? ''];
  const members = Object.keys(document.nodes).filter((id) => ids.includes(id));
  const chosen = new Set(members);
  const parts = new Parts(document, catalogue, members, open);
  const edge = group ? FRAME_EDGE : { x: 0, y: 0 };
  const found = cornerOf(document, members);
  const corner = { x: found.x - edge.x, y: found.y - edge.y };
  const places = Object.fromEntries(
    members.map((id) => {
      const place = document.view.nodes[id] ?? {};
      return [id, { ...place, x: (place.x ?? 0) - found.x, y: (place.y ?? 0) - found.y }];
    }),
  );
  const definition: Subgraph = {
    ...old,
    inputs: parts.inputs,
    arguments: parts.parameters,
    nodes: parts.nodes(before),
    outputs: parts.outputs,
    view: { nodes: places, notes: [], groups: [] },
  };
  const rest = without(document.nodes, chosen);
  const id = freeName(rest, group?.subgraph?.instance ?? name);
  const [firstOutput] = definition.outputs;
  const device = document.nodes[parseEdge(firstOutput ?? '').node]?.device ?? 'cpu';
  const instance: GraphNode = {
    op: PREFIX + name,
    device,
    inputs: trimmed(parts.given),
    arguments: open ? parts.constants(before) : {},
    connections: parts.connections,
  };
  const nodes: Record<string, GraphNode> = {};
  for (const [key, node] of Object.entries(document.nodes)) {
    if (!chosen.has(key)) nodes[key] = node;
    if (key === members.at(-1)) nodes[id] = instance;
  }
  const moved = mapEdges({ ...document, nodes }, (reference) => {
    const source = parseEdge(reference);
    if (!chosen.has(source.node)) return reference;
    const output = definition.outputs.indexOf(bareEdge(reference));
    return output < 0 ? null : formatEdge({ ...source, node: id, output });
  });
  const groups = document.view.groups
    .filter((each) => each.id !== group?.id)
    .map((each) => {
      const left = each.nodes.filter((member) => !chosen.has(member));
      return left.length === each.nodes.length
        ? each
        : { ...each, nodes: left.length > 0 ? [...left, id] : [] };
    })
    .filter((each) => each.nodes.length > 0);
  const taken: Record<string, unknown> = Object.fromEntries(parts.inputs.map((each) => [each, true]));
  const final = new Map<string, string>();
  for (const each of members) {
    // Where the name was taken on the canvas, the one inside is kept.
    const inner = names[each];
    const same =
      inner !== undefined && (each === inner || each.replace(/_\d+$/, '') === inner.replace(/_\d+$/, ''));
    const own = freeName(taken, same ? inner : each);
    taken[own] = true;
    final.set(each, own);
  }
  const written = renamedInside(definition, (each) => final.get(each) ?? each);
  const next = {
    ...moved,
    subgraphs: { ...document.subgraphs, [name]: written },
    view: {
      ...document.view,
      groups,
      nodes: { ...without(document.view.nodes, chosen), [id]: { x: corner.x, y: corner.y } },
    },
  };
  return { document: open ? followed(next, name, id, open, parts) : next, id };
}

/** Outputs of a definition that now have other places: links of other instances go along. */
function followed(
  document: GraphDocument,
  name: string,
  closed: string,
  open: Interface,
  parts: Parts,
): GraphDocument {
  const place = (output: number): number =>
    parts.outputs.indexOf(parts.continued.get(output) ?? open.outputs[output] ?? '');
  if (open.outputs.every((_, index) => place(index) === index)) return document;
  const others = new Set(instancesOf(document, name).filter((id) => id !== closed));
  return mapEdges(document, (reference) => {
    const source = parseEdge(reference);
    if (!others.has(source.node)) return reference;
    const output = place(source.output);
    return output < 0 ? null : formatEdge({ ...source, output });
  });
}

/** The ports and the nodes of a definition that is made of members of a document. */
class Parts {
  readonly inputs: string[] = [];
  /** The source of each input. */
  readonly given: (EdgeRef | null)[] = [];
  readonly parameters: Record<string, SubgraphArgument[]> = {};
  readonly connections: Record<string, EdgeRef> = {};
  readonly outputs: EdgeRef[] = [];
  /** New ends in place of outputs of the definition that stood open, by their index. */
  readonly continued = new Map<number, EdgeRef>();
  private readonly members: ReadonlySet<string>;
  /** The input that stands for an input of a member: "node:index". */
  private readonly inputOf = new Map<string, string>();

  constructor(
    readonly document: GraphDocument,
    readonly catalogue: Catalogue,
    private readonly order: readonly string[],
    open: Interface | undefined,
  ) {
    this.members = new Set(order);
    if (open) this.takeOver(open);
    this.findInputs();
    this.findParameters(open === undefined);
    this.findOutputs(open);
  }

  private takeOver(open: Interface): void {
    for (const { name, targets } of open.inputs) {
      this.inputs.push(name);
      this.given.push(null);
      for (const target of targets) this.inputOf.set(target, name);
    }
    for (const [parameter, targets] of Object.entries(open.parameters)) {
      const left = targets.filter(({ node }) => this.members.has(node));
      if (left.length > 0) this.parameters[parameter] = left;
    }
    this.outputs.push(...open.outputs.filter((reference) => this.members.has(parseEdge(reference).node)));
  }

  private outside(reference: EdgeRef | null | undefined): reference is EdgeRef {
    return reference != null && !this.members.has(parseEdge(reference).node);
  }

  private findInputs(): void {
    const names: Record<string, unknown> = Object.fromEntries(
      [...this.order, ...this.inputs].map((each) => [each, true]),
    );
    const bySource = new Map<EdgeRef, string>();
    for (const id of this.order) {
      const node = this.document.nodes[id];
      const operator = this.catalogue.operator(node?.op);
      const count = inputCount(operator, node?.inputs?.length ?? 0);
      for (let index = 0; index < count; index++) {
        const reference = node?.inputs?.[index];
        const declared = inputAt(operator, index);
        if (reference != null && !this.outside(reference)) continue;
        if (reference == null && (declared?.optional === true || declared?.variadic === true)) continue;
        const known = this.inputOf.get(`${id}:${index}`);
        let name = known ?? (reference == null ? undefined : bySource.get(bareEdge(reference)));
        if (name === undefined) {
          const kind = reference == null ? declared?.kind : kindOf(this, parseEdge(reference));
          name = freeName(names, kind === 'image' ? 'images' : (declared?.name ?? 'data'));
          names[name] = true;
          this.inputs.push(name);
          this.given.push(null);
        }
        this.inputOf.set(`${id}:${index}`, name);
        const place = this.inputs.indexOf(name);
        if (reference != null) {
          this.given[place] = bareEdge(reference);
          bySource.set(bareEdge(reference), name);
        }
      }
    }
  }

  private findParameters(fresh: boolean): void {
    const bySource = new Map<string, string>();
    const add = (node: string, argument: string): string => {
      const name = Object.hasOwn(this.parameters, argument) ? `${node}_${argument}` : argument;
      const free = freeName({ ...this.parameters }, name);
      this.parameters[free] = [{ node, argument }];
      return free;
    };
    for (const id of this.order) {
      const node = this.document.nodes[id];
      for (const [argument, reference] of Object.entries(node?.connections ?? {})) {
        if (!this.outside(reference)) continue;
        const key = `${bareEdge(reference)} ${argument}`;
        const own = parameterOf(this.parameters, id, argument);
        const shared = own ?? bySource.get(key);
        const name = shared ?? add(id, argument);
        if (own === undefined && shared !== undefined) this.parameters[name]?.push({ node: id, argument });
        bySource.set(key, name);
        this.connections[name] = bareEdge(reference);
      }
      if (!fresh) continue;
      const operator = this.catalogue.operator(node?.op);
      for (const argument of Object.keys(node?.arguments ?? {})) {
        const declared = operator?.arguments.find((each) => each.name === argument);
        if (declared && !declared.advanced && node?.connections?.[argument] === undefined) add(id, argument);
      }
    }
  }

  /**
   * Outputs that leave or that nothing takes. Where an open sub-graph was continued at its end, the output is the new
   * end.
   */
  private findOutputs(open: Interface | undefined): void {
    const used = new Set<EdgeRef>();
    const add = (reference: EdgeRef): void => {
      if (!this.outputs.includes(reference)) this.outputs.push(reference);
    };
    const leaving = new Set<EdgeRef>();
    for (const { source, target } of links(this.document)) {
      if (!this.members.has(source.node)) continue;
      used.add(formatEdge(source));
      if (!this.members.has(target.node)) leaving.add(formatEdge(source));
    }
    for (const reference of this.document.outputs) leaving.add(bareEdge(reference));
    for (const id of this.order) {
      const node = this.document.nodes[id];
      const count = Math.max(1, this.catalogue.operator(node?.op)?.outputs.length ?? 1);
      for (let output = 0; output < count; output++) {
        const reference = formatEdge({ node: id, output });
        if (leaving.has(reference) || !used.has(reference)) add(reference);
      }
    }
    open?.outputs.forEach((before, index) => {
      const place = this.outputs.indexOf(before);
      if (place < 0 || leaving.has(before) || !used.has(before) || open.taken.has(before)) return;
      const end = this.outputs
        .filter((each) => !open.outputs.includes(each))
        .find((each) => upstream(this.document, parseEdge(each).node).has(parseEdge(before).node));
      if (end === undefined) return;
      this.outputs.splice(this.outputs.indexOf(end), 1);
      this.outputs[place] = end;
      this.continued.set(index, end);
    });
  }

  /** The nodes with links to the inputs; offered arguments keep what an earlier definition says. */
  nodes(earlier: (id: string) => GraphNode | undefined): Record<string, GraphNode> {
    return Object.fromEntries(
      this.order.map((id): [string, GraphNode] => {
        const node = this.document.nodes[id] as GraphNode;
        const inputs = (node.inputs ?? []).map((reference, index) => {
          const name = this.inputOf.get(`${id}:${index}`);
          return name !== undefined && (reference == null || this.outside(reference)) ? name : reference;
        });
        for (let index = inputs.length; this.inputOf.has(`${id}:${index}`); index++)
          inputs.push(this.inputOf.get(`${id}:${index}`) as string);
        const connections = Object.fromEntries(
          Object.entries(node.connections ?? {}).filter(([, reference]) => !this.outside(reference)),
        );
        const values = { ...node.arguments };
        for (const targets of Object.values(this.parameters)) {
          for (const { argument } of targets.filter((each) => each.node === id)) {
            const old = earlier(id);
            if (!old) {
              // An argument that is given from outside here needs a value where another use gives none.
              const start = this.catalogue.operator(node.op)?.start?.[argument];
              if (values[argument] === undefined && start !== undefined) values[argument] = start;
              continue;
            }
            const before = old.arguments?.[argument];
            if (before === undefined)
              delete values[argument]; // eslint-disable-line @typescript-eslint/no-dynamic-delete
            else values[argument] = before;
          }
        }
        return [id, { ...node, inputs: trimmed(inputs), arguments: values, connections }];
      }),
    );
  }

  /** The values of offered arguments that differ from those of an earlier definition. */
  constants(earlier: (id: string) => GraphNode | undefined): NonNullable<GraphNode['arguments']> {
    const found: NonNullable<GraphNode['arguments']> = {};
    for (const [parameter, [first]] of Object.entries(this.parameters)) {
      const old = earlier(first?.node ?? '');
      if (!first || !old || this.connections[parameter] !== undefined) continue;
      const value = this.document.nodes[first.node]?.arguments?.[first.argument];
      const before = old.arguments?.[first.argument];
      if (value !== undefined && JSON.stringify(value) !== JSON.stringify(before)) found[parameter] = value;
    }
    return found;
  }
}

/** Opens an instance: its nodes stand on the canvas as a group, to be looked at and edited. */
export function openSubgraph(
  document: GraphDocument,
  id: string,
): { document: GraphDocument; group: string } | null {
  const instance = document.nodes[id];
  const name = definitionName(instance?.op);
  const definition = definitionOf(document, instance?.op);
  if (!instance || name === null || !definition) return null;
  const taken: Record<string, unknown> = { ...without(document.nodes, new Set([id])) };
  const names = new Map<string, string>();
  for (const inner of Object.keys(definition.nodes)) {
    const free = freeName(taken, inner);
    taken[free] = true;
    names.set(inner, free);
  }
  const given = new Map(definition.inputs.map((input, index) => [input, instance.inputs?.[index] ?? null]));
  const out = (reference: EdgeRef | null): EdgeRef | null => {
    if (reference === null) return null;
    const source = parseEdge(reference);
    const outer = given.get(source.node);
    if (outer !== undefined) return outer;
    const inner = names.get(source.node);
    return inner === undefined ? null : formatEdge({ ...source, node: inner });
  };
  const placed: Record<string, GraphNode> = {};
  for (const [inner, node] of Object.entries(definition.nodes)) {
    const free = names.get(inner) as string;
    placed[free] = {
      ...node,
      inputs: trimmed((node.inputs ?? []).map(out)),
      connections: Object.fromEntries(
        Object.entries(node.connections ?? {})
          .map(([key, reference]) => [key, out(reference)] as const)
          .filter((entry): entry is [string, EdgeRef] => entry[1] !== null),
      ),
    };
  }
  for (const [parameter, targets] of Object.entries(definition.arguments ?? {})) {
    for (const { node, argument } of targets) {
      const entry = placed[names.get(node) ?? ''];
      if (!entry) continue;
      const [value, reference] = [instance.arguments?.[parameter], instance.connections?.[parameter]];
      if (reference !== undefined) {
        entry.connections = { ...entry.connections, [argument]: reference };
        entry.arguments = without(entry.arguments ?? {}, new Set([argument]));
      } else if (value != null) {
        entry.arguments = { ...entry.arguments, [argument]: value };
        entry.connections = without(entry.connections ?? {}, new Set([argument]));
      }
    }
  }
  const nodes: Record<string, GraphNode> = {};
  for (const [key, node] of Object.entries(document.nodes)) {
    if (key === id) Object.assign(nodes, placed);
    else nodes[key] = node;
  }
  const moved = mapEdges({ ...document, nodes }, (reference) => {
    const source = parseEdge(reference);
    if (source.node !== id) return reference;
    const inner = out(definition.outputs[source.output] ?? null);
    return inner === null
      ? null
      : formatEdge({ ...parseEdge(inner), ...(source.device ? { device: source.device } : {}) });
  });
  const place = document.view.nodes[id] ?? {};
  const corner = { x: (place.x ?? 0) + FRAME_EDGE.x, y: (place.y ?? 0) + FRAME_EDGE.y };
  const views = Object.fromEntries(
    [...names].map(([inner, free]) => {
      const at = definition.view?.nodes[inner] ?? {};
      return [free, { ...at, x: Math.round((at.x ?? 0) + corner.x), y: Math.round((at.y ?? 0) + corner.y) }];
    }),
  );
  const ids = Object.fromEntries(document.view.groups.map((group) => [group.id, true]));
  const key = freeName(ids, 'group');
  const back = Object.fromEntries([...names].map(([inner, free]) => [free, inner]));
  const group: Group = {
    id: key,
    title: name,
    nodes: [...names.values()],
    subgraph: { name, instance: id, names: back },
  };
  const groups = document.view.groups.map((each) =>
    each.nodes.includes(id) ? { ...each, nodes: each.nodes.filter((member) => member !== id) } : each,
  );
  return {
    document: {
      ...moved,
      view: {
        ...document.view,
        nodes: { ...without(document.view.nodes, new Set([id])), ...views },
        groups: [...groups.filter((each) => each.nodes.length > 0), group],
      },
    },
    group: key,
  };
}

/** Closes a group that a sub-graph stands open as: the definition is what is in it now. */
export function closeSubgraph(
  document: GraphDocument,
  catalogue: Catalogue,
  group: Group,
): MadeSubgraph | null {
  const open = group.subgraph;
  if (!open || !document.subgraphs?.[open.name]) return null;
  return makeSubgraph(document, catalogue, group.nodes, open.name, group);
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
