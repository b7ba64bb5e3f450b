/** Sub-graphs: groups that are shown as one node. They change the view, never the graph's results. */
import { outputsOf, type Catalogue, type Kind } from './catalogue';
import { inputAt, inputCount, kindOf } from './connect';
import {
  isArgument,
  links,
  parseEdge,
  targetKey,
  type GraphDocument,
  type Group,
  type OutputRef,
  type Target,
} from './document';
import { flowName, graphName } from './flowNames';

/** A group's key among the names of nodes: no node has a colon in its name. */
export const groupKey = (id: string): string => `group:${id}`;

/** The nodes that stand inside a collapsed group, each with its group's id. */
export function hiddenNodes(document: GraphDocument): Map<string, string> {
  const hidden = new Map<string, string>();
  for (const group of document.view.groups) {
    if (group.collapsed) for (const id of group.nodes) if (document.nodes[id]) hidden.set(id, group.id);
  }
  return hidden;
}

export interface InnerInput {
  target: Target;
  label: string;
  kind: Kind;
}

export interface InnerOutput {
  source: OutputRef;
  label: string;
  kind: Kind;
}

export interface Boundary {
  inputs: InnerInput[];
  outputs: InnerOutput[];
}

/** The ports of a collapsed group: inputs from outside or still open, and outputs that leave it or end in it. */
export function boundary(document: GraphDocument, catalogue: Catalogue, group: Group): Boundary {
  const members = new Set(group.nodes);
  const facts = { document, catalogue };
  const inputs: InnerInput[] = [];
  const outputs = new Map<string, InnerOutput>();
  const fed = new Set<string>();
  for (const { source, target } of links(document)) {
    const from = members.has(source.node);
    const to = members.has(target.node);
    if (from) fed.add(`${source.node}:${source.output}`);
    if (from && !to) addOutput(source);
    if (!from && to && isArgument(target)) {
      inputs.push({ target, label: `${target.node} · ${target.argument}`, kind: 'tensor' });
    }
  }
  function addOutput(source: OutputRef): void {
    const key = `${source.node}:${source.output}`;
    if (outputs.has(key)) return;
    const node = document.nodes[source.node];
    const declared = outputsOf(catalogue.operator(node?.op), node);
    const name = declared.length > 1 ? ` · ${declared[source.output]?.name ?? source.output}` : '';
    outputs.set(key, { source, label: `${source.node}${name}`, kind: kindOf(facts, source) });
  }
  for (const id of group.nodes) {
    const node = document.nodes[id];
    const operator = catalogue.operator(node?.op);
    if (!node) continue;
    const count = inputCount(operator, node.inputs?.length ?? 0);
    for (let input = 0; input < count; input++) {
      const reference = node.inputs?.[input];
      if (reference != null && members.has(parseEdge(reference).node)) continue;
      const declared = inputAt(operator, input);
      if (reference == null && declared?.optional) continue;
      const name = count > 1 ? ` · ${declared?.name ?? input}` : '';
      inputs.push({ target: { node: id, input }, label: `${id}${name}`, kind: declared?.kind ?? 'any' });
    }
    const ends = operator ? outputsOf(operator, node).length : 1;
    for (let output = 0; output < ends; output++) {
      if (!fed.has(`${id}:${output}`)) addOutput({ node: id, output });
    }
  }
  return { inputs, outputs: [...outputs.values()] };
}

/** Names of ports for React Flow: those of a node, and those of a collapsed group that stand for a node inside. */
export const portOf = {
  output: (source: OutputRef, inside: boolean): string =>
    inside ? flowName(`out:${source.node}:${source.output}`) : `out:${source.output}`,
  target: (target: Target, inside: boolean): string => {
    if (inside) return flowName(`in:${targetKey(target)}`);
    return isArgument(target) ? `arg:${target.argument}` : `in:${target.input}`;
  },
};

/** The output that a port of React Flow stands for. */
export function outputOfPort(element: string, port: string): OutputRef {
  const name = graphName(port.slice('out:'.length));
  if (!element.startsWith('group:')) return { node: graphName(element), output: Number(name) };
  const colon = name.lastIndexOf(':');
  return { node: name.slice(0, colon), output: Number(name.slice(colon + 1)) };
}

/** The input or argument that a port of React Flow stands for. */
export function targetOfPort(element: string, port: string): Target {
  if (element.startsWith('group:')) {
    const match = /^in:(.*):(in|arg):(.*)$/s.exec(graphName(port));
    const [, node = '', kind, name = ''] = match ?? [];
    return kind === 'arg' ? { node, argument: name } : { node, input: Number(name) };
  }
  return port.startsWith('arg:')
    ? { node: graphName(element), argument: port.slice(4) }
    : { node: graphName(element), input: Number(port.slice(3)) };
}

/**
 * The document for a small drawing: a node named after each collapsed group in place of its members, with their links
 * to the outside. Also returns how many nodes each one stands for.
 */
export function foldGroups(document: GraphDocument): { document: GraphDocument; sizes: Map<string, number> } {
  const sizes = new Map<string, number>();
  // A document as it stands in a file may have no view.
  if (!(document as Partial<GraphDocument>).view?.groups) return { document, sizes };
  const hidden = hiddenNodes(document);
  if (hidden.size === 0) return { document, sizes };
  const names = new Map<string, string>();
  for (const group of document.view.groups) {
    const title = group.title.replaceAll(':', ' ');
    let name = title;
    for (let number = 2; document.nodes[name] || sizes.has(name); number++) name = `${title} ${number}`;
    names.set(group.id, name);
    if (group.collapsed) sizes.set(name, 0);
  }
  const place = (node: string): string => {
    const group = hidden.get(node);
    return group === undefined ? node : (names.get(group) ?? node);
  };
  const there = (reference: string): string => {
    const { node } = parseEdge(reference);
    return hidden.has(node) ? place(node) : reference;
  };
  const nodes: GraphDocument['nodes'] = {};
  for (const [id, node] of Object.entries(document.nodes)) {
    const name = place(id);
    const inputs = (node.inputs ?? []).map((reference) => (reference === null ? null : there(reference)));
    const connections = Object.entries(node.connections ?? {}).map(([key, reference]) => [
      key,
      there(reference),
    ]);
    if (!hidden.has(id)) {
      nodes[id] = { ...node, inputs, connections: Object.fromEntries(connections) as Record<string, string> };
      continue;
    }
    sizes.set(name, (sizes.get(name) ?? 0) + 1);
    const folded = (nodes[name] ??= { op: '', inputs: [] });
    for (const reference of [...inputs, ...connections.map(([, reference]) => reference)]) {
      if (reference == null || reference === name || folded.inputs?.includes(reference)) continue;
      folded.inputs?.push(reference);
    }
  }
  return { document: { ...document, nodes, outputs: document.outputs.map(there) }, sizes };
}
