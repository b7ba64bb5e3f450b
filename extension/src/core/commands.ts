/** Edits of a document as pure functions: document in, document out. */
import type { Operator } from './catalogue';
import {
  bareEdge,
  formatEdge,
  freeName,
  isArgument,
  links,
  parseEdge,
  type Device,
  type EdgeRef,
  type GraphDocument,
  type GraphNode,
  type Group,
  type NodeView,
  type Note,
  type OutputRef,
  type Target,
  type Value,
} from './document';

export interface Point {
  x: number;
  y: number;
}

function withNode(
  document: GraphDocument,
  id: string,
  change: (node: GraphNode) => GraphNode,
): GraphDocument {
  const node = document.nodes[id];
  if (!node) return document;
  return { ...document, nodes: { ...document.nodes, [id]: change(node) } };
}

function withViews(document: GraphDocument, views: Record<string, NodeView>): GraphDocument {
  return { ...document, view: { ...document.view, nodes: { ...document.view.nodes, ...views } } };
}

function without<T>(record: Readonly<Record<string, T>>, ids: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([id]) => !ids.has(id)));
}

/** Inputs without the nulls at their end, as files have them. */
function trimmed(inputs: (EdgeRef | null)[]): (EdgeRef | null)[] {
  let end = inputs.length;
  while (end > 0 && inputs[end - 1] == null) end--;
  return inputs.slice(0, end);
}

/** Rewrites every edge reference; `null` disconnects. */
export function mapEdges(
  document: GraphDocument,
  map: (reference: EdgeRef) => EdgeRef | null,
): GraphDocument {
  const nodes: Record<string, GraphNode> = {};
  for (const [id, node] of Object.entries(document.nodes)) {
    const inputs = node.inputs?.map((reference) => (reference === null ? null : map(reference)));
    const connections = Object.entries(node.connections ?? {}).map(
      ([name, reference]) => [name, map(reference)] as const,
    );
    const moved =
      inputs?.some((reference, index) => reference !== node.inputs?.[index]) === true ||
      connections.some(([name, reference]) => reference !== node.connections?.[name]);
    if (!moved) {
      nodes[id] = node;
      continue;
    }
    const next: GraphNode = { ...node };
    if (inputs) next.inputs = trimmed(inputs);
    if (node.connections) {
      next.connections = Object.fromEntries(
        connections.filter((entry): entry is [string, EdgeRef] => entry[1] !== null),
      );
    }
    nodes[id] = next;
  }
  const outputs = document.outputs.map(map).filter((reference) => reference !== null);
  const unique = outputs.filter((reference, index) => outputs.indexOf(reference) === index);
  return { ...document, nodes, outputs: unique };
}

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
 * Removes nodes. With `bridge`, a wire that went through a removed node stays: what it fed gets
 * what it got, where `bridge` allows that.
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
          ? { ...group, nodes: group.nodes.map((member) => (member === id ? name : member)) }
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

export function connect(document: GraphDocument, source: OutputRef, target: Target): GraphDocument {
  if (!document.nodes[source.node]) return document;
  const reference = formatEdge(source);
  return withNode(document, target.node, (node) => {
    if (isArgument(target)) {
      return { ...node, connections: { ...node.connections, [target.argument]: reference } };
    }
    const inputs = [...(node.inputs ?? [])];
    while (inputs.length < target.input) inputs.push(null);
    inputs[target.input] = reference;
    return { ...node, inputs };
  });
}

/**
 * Connects, and moves the mark of the pipeline's output along: what was the end of the chain is not
 * any more when a fresh node continues it.
 */
export function connectAndExtend(document: GraphDocument, source: OutputRef, target: Target): GraphDocument {
  const reference = formatEdge(source);
  const next = connect(document, source, target);
  if (isArgument(target) || !isOutput(document, reference)) return next;
  const all = links(document);
  const continued = all.some((link) => formatEdge(link.source) === reference);
  const inUse =
    all.some((link) => link.source.node === target.node) ||
    document.outputs.some((output) => parseEdge(output).node === target.node);
  if (continued || inUse) return next;
  const outputs = next.outputs.map((output) =>
    bareEdge(output) === reference ? withDevice(target.node, parseEdge(output).device) : output,
  );
  return { ...next, outputs };
}

export function disconnect(document: GraphDocument, target: Target): GraphDocument {
  return withNode(document, target.node, (node) => {
    if (isArgument(target)) {
      return { ...node, connections: without(node.connections ?? {}, new Set([target.argument])) };
    }
    const inputs = (node.inputs ?? []).map((reference, index) => (index === target.input ? null : reference));
    return { ...node, inputs: trimmed(inputs) };
  });
}

/** Puts a node into a link: source to its first input, its first output to the target. */
export function insertInto(
  document: GraphDocument,
  id: string,
  source: OutputRef,
  target: Target,
): GraphDocument {
  const joined = connect(document, source, { node: id, input: 0 });
  return connect(joined, { node: id, output: 0 }, target);
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
  const outputs = Math.max(1, operator.outputs.length);
  const cut = mapEdges(replaced, (reference) => {
    const source = parseEdge(reference);
    return source.node === id && source.output >= outputs ? null : reference;
  });
  const usual = baseName(node.op);
  if (id !== usual && !new RegExp(`^${usual}_\\d+$`).test(id)) return cut;
  return renameNode(cut, id, freeName(without(cut.nodes, new Set([id])), baseName(operator.name)));
}

/** Whether the pipeline gives this output, on whichever device. */
export function isOutput(document: GraphDocument, reference: EdgeRef): boolean {
  return document.outputs.some((output) => bareEdge(output) === reference);
}

function withDevice(reference: EdgeRef, device: OutputRef['device']): EdgeRef {
  return formatEdge({ ...parseEdge(reference), ...(device ? { device } : {}) });
}

export function setOutputs(document: GraphDocument, outputs: EdgeRef[]): GraphDocument {
  return { ...document, outputs };
}

export function toggleOutput(document: GraphDocument, reference: EdgeRef): GraphDocument {
  if (!document.nodes[parseEdge(reference).node]) return document;
  const outputs = isOutput(document, reference)
    ? document.outputs.filter((output) => bareEdge(output) !== reference)
    : [...document.outputs, reference];
  return { ...document, outputs };
}

export function setPipeline(document: GraphDocument, name: string, value: Value): GraphDocument {
  return { ...document, pipeline: { ...document.pipeline, [name]: value } };
}

export function moveNodes(document: GraphDocument, positions: Record<string, Point>): GraphDocument {
  const views: Record<string, NodeView> = {};
  for (const [id, { x, y }] of Object.entries(positions)) {
    views[id] = { ...document.view.nodes[id], x: Math.round(x), y: Math.round(y) };
  }
  return withViews(document, views);
}

export function setView(
  document: GraphDocument,
  ids: readonly string[],
  change: Partial<NodeView>,
): GraphDocument {
  const views: Record<string, NodeView> = {};
  for (const id of ids) views[id] = { ...document.view.nodes[id], ...change };
  return withViews(document, views);
}

/** Nodes on the clipboard, with references to each other and to what they came from. */
export interface Clip {
  format: 'dali-lab/nodes';
  nodes: Record<string, GraphNode>;
  view: Record<string, NodeView>;
}

export function copyNodes(document: GraphDocument, ids: readonly string[]): Clip {
  const nodes: Record<string, GraphNode> = {};
  const view: Record<string, NodeView> = {};
  for (const id of Object.keys(document.nodes)) {
    const node = document.nodes[id];
    if (!node || !ids.includes(id)) continue;
    nodes[id] = node;
    view[id] = document.view.nodes[id] ?? {};
  }
  return { format: 'dali-lab/nodes', nodes, view };
}

export function parseClip(text: string): Clip | null {
  try {
    const data = JSON.parse(text) as Partial<Clip> | null;
    if (data?.format !== 'dali-lab/nodes' || typeof data.nodes !== 'object') return null;
    return { format: 'dali-lab/nodes', nodes: data.nodes, view: data.view ?? {} };
  } catch {
    return null;
  }
}

/** Puts nodes in with new names; links among them are kept, and links from nodes that are here too. */
export function pasteNodes(
  document: GraphDocument,
  clip: Clip,
  offset: Point,
): { document: GraphDocument; ids: string[] } {
  const names = new Map<string, string>();
  const taken: Record<string, unknown> = { ...document.nodes };
  for (const id of Object.keys(clip.nodes)) {
    const name = freeName(taken, id);
    taken[name] = true;
    names.set(id, name);
  }
  const map = (reference: EdgeRef): EdgeRef | null => {
    const source = parseEdge(reference);
    const name = names.get(source.node);
    if (name !== undefined) return formatEdge({ ...source, node: name });
    return document.nodes[source.node] ? reference : null;
  };
  const nodes = { ...document.nodes };
  const views: Record<string, NodeView> = {};
  for (const [id, node] of Object.entries(clip.nodes)) {
    const name = names.get(id) as string;
    const added: GraphNode = { ...node };
    if (node.inputs) {
      added.inputs = trimmed(node.inputs.map((reference) => (reference === null ? null : map(reference))));
    }
    if (node.connections) {
      added.connections = Object.fromEntries(
        Object.entries(node.connections)
          .map(([argument, reference]) => [argument, map(reference)] as const)
          .filter((entry): entry is [string, EdgeRef] => entry[1] !== null),
      );
    }
    nodes[name] = added;
    const view = clip.view[id] ?? {};
    views[name] = {
      ...view,
      x: Math.round((view.x ?? 0) + offset.x),
      y: Math.round((view.y ?? 0) + offset.y),
    };
  }
  return { document: withViews({ ...document, nodes }, views), ids: [...names.values()] };
}

function freeId(taken: readonly { id: string }[], base: string): string {
  return freeName(Object.fromEntries(taken.map(({ id }) => [id, true])), base);
}

export function addNote(
  document: GraphDocument,
  at: Point,
  text = '',
): { document: GraphDocument; id: string } {
  const id = freeId(document.view.notes, 'note');
  const note: Note = { id, text, x: Math.round(at.x), y: Math.round(at.y), w: 220, h: 88 };
  return { document: { ...document, view: { ...document.view, notes: [...document.view.notes, note] } }, id };
}

export function setNote(document: GraphDocument, id: string, change: Partial<Note> | null): GraphDocument {
  const notes =
    change === null
      ? document.view.notes.filter((note) => note.id !== id)
      : document.view.notes.map((note) => (note.id === id ? { ...note, ...change } : note));
  return { ...document, view: { ...document.view, notes } };
}

/** Puts nodes into a new group; a node is in one group at most. */
export function addGroup(document: GraphDocument, ids: readonly string[], title: string): GraphDocument {
  const members = ids.filter((id) => document.nodes[id]);
  if (members.length === 0) return document;
  const groups = document.view.groups
    .map((group) => ({ ...group, nodes: group.nodes.filter((id) => !members.includes(id)) }))
    .filter(({ nodes }) => nodes.length > 0);
  const group: Group = { id: freeId(groups, 'group'), title, nodes: [...members] };
  return { ...document, view: { ...document.view, groups: [...groups, group] } };
}

export function setGroup(document: GraphDocument, id: string, change: Partial<Group> | null): GraphDocument {
  const groups =
    change === null
      ? document.view.groups.filter((group) => group.id !== id)
      : document.view.groups.map((group) => (group.id === id ? { ...group, ...change } : group));
  return { ...document, view: { ...document.view, groups } };
}
