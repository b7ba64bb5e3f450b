/** Nodes on their way through the clipboard. */
import {
  formatEdge,
  freeName,
  parseEdge,
  type EdgeRef,
  type GraphDocument,
  type GraphNode,
  type NodeView,
  type Subgraph,
} from '../document';
import { takeDefinitions, usedDefinitions } from '../definitions';
import { type Point, withViews, trimmed } from './rewriting';

/** Nodes on the clipboard, with references to each other and to their sources. */
export interface Clip {
  format: 'dali-lab/nodes';
  nodes: Record<string, GraphNode>;
  view: Record<string, NodeView>;
  /** The sub-graphs that they use. */
  subgraphs?: Record<string, Subgraph>;
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
  const subgraphs = usedDefinitions(nodes, document.subgraphs ?? {});
  return {
    format: 'dali-lab/nodes',
    nodes,
    view,
    ...(Object.keys(subgraphs).length > 0 ? { subgraphs } : {}),
  };
}

export function parseClip(text: string): Clip | null {
  try {
    const data = JSON.parse(text) as Partial<Clip> | null;
    if (data?.format !== 'dali-lab/nodes' || typeof data.nodes !== 'object') return null;
    const { nodes, view = {}, subgraphs } = data;
    return { format: 'dali-lab/nodes', nodes, view, ...(subgraphs ? { subgraphs } : {}) };
  } catch {
    return null;
  }
}

/** Puts nodes in with new names; links among them are kept, and links from nodes that are here too. */
export function pasteNodes(
  start: GraphDocument,
  clip: Clip,
  offset: Point,
): { document: GraphDocument; ids: string[] } {
  const { document, op } = takeDefinitions(start, clip.subgraphs ?? {});
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
    const added: GraphNode = { ...node, op: op(node.op) };
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
