/** Edits of nodes: added, removed, renamed, another operator, their arguments and devices. */
import { outputsOf, type Operator } from '../catalogue';
import {
  bareEdge,
  formatEdge,
  freeName,
  parseEdge,
  type Device,
  type EdgeRef,
  type GraphDocument,
  type GraphNode,
  type OutputRef,
  type Target,
  type Value,
} from '../document';
import { type Point, withNode, withViews, without, trimmed, mapEdges, withDevice } from './rewriting';

/** The name that a new node of an operator gets: "decoders.image" gives "decode". */
export function baseName(op: string): string {
  const [family, ...rest] = op.split('.');
  const known: Record<string, string> = {
    readers: 'reader',
    decoders: 'decode',
    random: 'random',
    noise: 'noise',
  };
  if (rest.length === 0) return op;
  const short = rest.join('_');
  const prefix = known[family ?? ''];
  if (prefix === 'reader' || (prefix === 'decode' && short === 'image')) return prefix;
  return prefix ? `${prefix}_${short}` : short;
}

export interface NewNode {
  op: string;
  name?: string;
  device?: Device;
  arguments?: Record<string, Value>;
}

export function addNode(
  document: GraphDocument,
  node: NewNode,
  at: Point,
): { document: GraphDocument; id: string } {
  const id = freeName(document.nodes, node.name ?? baseName(node.op));
  const added: GraphNode = {
    op: node.op,
    device: node.device ?? 'cpu',
    inputs: [],
    arguments: node.arguments ?? {},
    connections: {},
  };
  const next = { ...document, nodes: { ...document.nodes, [id]: added } };
  return { document: withViews(next, { [id]: { x: Math.round(at.x), y: Math.round(at.y) } }), id };
}

/**
 * Removes nodes. With `bridge`, a link through a removed node stays: its targets are connected to its
 * source, where `bridge` allows that.
 */
export function removeNodes(
  document: GraphDocument,
  ids: readonly string[],
  bridge?: (source: OutputRef, target: Target | null) => boolean,
): GraphDocument {
  const gone = new Set(ids);
  const through = (reference: EdgeRef, target: Target | null): EdgeRef | null => {
    let current: EdgeRef | null = reference;
    for (let hops = 0; current !== null && hops <= ids.length; hops++) {
      const { node, output } = parseEdge(current);
      if (!gone.has(node)) break;
      const first: EdgeRef | null | undefined = output === 0 ? document.nodes[node]?.inputs?.[0] : null;
      current = bridge ? (first ?? null) : null;
    }
    // A loop of removed nodes leads nowhere.
    if (current === null || gone.has(parseEdge(current).node)) return null;
    if (current === reference) return current;
    return bridge?.(parseEdge(current), target) ? current : null;
  };
  const nodes: Record<string, GraphNode> = {};
  for (const [id, node] of Object.entries(document.nodes)) {
    if (gone.has(id)) continue;
    const touched =
      node.inputs?.some((reference) => reference !== null && gone.has(parseEdge(reference).node)) === true ||
      Object.values(node.connections ?? {}).some((reference) => gone.has(parseEdge(reference).node));
    if (!touched) {
      nodes[id] = node;
      continue;
    }
    const next: GraphNode = { ...node };
    if (node.inputs) {
      next.inputs = trimmed(
        node.inputs.map((reference, input) =>
          reference === null ? null : through(reference, { node: id, input }),
        ),
      );
    }
    if (node.connections) {
      next.connections = Object.fromEntries(
        Object.entries(node.connections)
          .map(([argument, reference]) => [argument, through(reference, { node: id, argument })] as const)
          .filter((entry): entry is [string, EdgeRef] => entry[1] !== null),
      );
    }
    nodes[id] = next;
  }
  const outputs = document.outputs
    .map((reference) => {
      const { device } = parseEdge(reference);
      const bare = bareEdge(reference);
      const left = through(bare, null);
      return left === null || left === bare ? left && reference : withDevice(left, device);
    })
    .filter((each) => each !== null);
  return {
    ...document,
    nodes,
    outputs: outputs.filter((reference, index) => outputs.indexOf(reference) === index),
    view: {
      ...document.view,
      nodes: without(document.view.nodes, gone),
      groups: document.view.groups
        .map((group) => ({ ...group, nodes: group.nodes.filter((id) => !gone.has(id)) }))
        .filter((group, index) => group.nodes.length > 0 || document.view.groups[index]?.nodes.length === 0),
    },
  };
}

/** Gives a node another name, in its place, and rewrites all that refers to it. */
export function renameNode(document: GraphDocument, id: string, name: string): GraphDocument {
  if (id === name || !document.nodes[id] || Object.hasOwn(document.nodes, name)) return document;
  const rename = <T>(record: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key === id ? name : key, value]));
  const moved = mapEdges(document, (reference) => {
    const source = parseEdge(reference);
    return source.node === id ? formatEdge({ ...source, node: name }) : reference;
  });
  return {
    ...moved,
    nodes: rename(moved.nodes),
    view: {
      ...moved.view,
      nodes: rename(moved.view.nodes),
      groups: moved.view.groups.map((group) =>
        group.nodes.includes(id)
          ? {
              ...group,
              nodes: group.nodes.map((member) => (member === id ? name : member)),
              ...(group.subgraph
                ? { subgraph: { ...group.subgraph, names: rename(group.subgraph.names) } }
                : {}),
            }
          : group,
      ),
    },
  };
}

/** Sets a constant; `undefined` goes back to the default. */
export function setArgument(
  document: GraphDocument,
  id: string,
  name: string,
  value: Value | undefined,
): GraphDocument {
  return withNode(document, id, (node) => {
    const values = { ...node.arguments };
    if (value === undefined) return { ...node, arguments: without(values, new Set([name])) };
    values[name] = value;
    return { ...node, arguments: values };
  });
}

export function setDevice(document: GraphDocument, ids: readonly string[], device: Device): GraphDocument {
  return ids.reduce((result, id) => withNode(result, id, (node) => ({ ...node, device })), document);
}

/** Another operator in the place of a node; links and arguments that the new one also has are kept. */
export function replaceOperator(document: GraphDocument, id: string, operator: Operator): GraphDocument {
  const node = document.nodes[id];
  if (!node) return document;
  const names = new Set(operator.arguments.map(({ name }) => name));
  const tensors = new Set(operator.arguments.filter(({ tensor }) => tensor).map(({ name }) => name));
  const variadic = operator.inputs[operator.inputs.length - 1]?.variadic;
  const pick = <T>(record: Record<string, T> | undefined, allowed: ReadonlySet<string>): Record<string, T> =>
    Object.fromEntries(Object.entries(record ?? {}).filter(([name]) => allowed.has(name)));
  const device =
    node.device && operator.devices.includes(node.device) ? node.device : (operator.devices[0] ?? 'cpu');
  const replaced = withNode(document, id, (old) => ({
    ...old,
    op: operator.name,
    device,
    inputs: variadic ? (old.inputs ?? []) : (old.inputs ?? []).slice(0, operator.inputs.length),
    arguments: pick(old.arguments, names),
    connections: pick(old.connections, tensors),
  }));
  const outputs = Math.max(1, outputsOf(operator, replaced.nodes[id]).length);
  const cut = mapEdges(replaced, (reference) => {
    const source = parseEdge(reference);
    return source.node === id && source.output >= outputs ? null : reference;
  });
  const usual = baseName(node.op);
  if (id !== usual && !new RegExp(`^${usual}_\\d+$`).test(id)) return cut;
  return renameNode(cut, id, freeName(without(cut.nodes, new Set([id])), baseName(operator.name)));
}

export function setPipeline(document: GraphDocument, name: string, value: Value): GraphDocument {
  return { ...document, pipeline: { ...document.pipeline, [name]: value } };
}
