/** Building blocks of edits: change one node, many views, or every reference. */
import {
  formatEdge,
  parseEdge,
  type EdgeRef,
  type GraphDocument,
  type GraphNode,
  type NodeView,
  type OutputRef,
} from '../document';

export interface Point {
  x: number;
  y: number;
}

export function withNode(
  document: GraphDocument,
  id: string,
  change: (node: GraphNode) => GraphNode,
): GraphDocument {
  const node = document.nodes[id];
  if (!node) return document;
  return { ...document, nodes: { ...document.nodes, [id]: change(node) } };
}

export function withViews(document: GraphDocument, views: Record<string, NodeView>): GraphDocument {
  return { ...document, view: { ...document.view, nodes: { ...document.view.nodes, ...views } } };
}

export function without<T>(record: Readonly<Record<string, T>>, ids: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([id]) => !ids.has(id)));
}

/** Inputs without the nulls at their end, as files have them. */
export function trimmed(inputs: (EdgeRef | null)[]): (EdgeRef | null)[] {
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

export function withDevice(reference: EdgeRef, device: OutputRef['device']): EdgeRef {
  return formatEdge({ ...parseEdge(reference), ...(device ? { device } : {}) });
}
