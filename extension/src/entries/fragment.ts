/** An entry's augmentation as nodes that go into another graph. */
import { connect, copyNodes, pasteNodes, type Point } from '../core/edits';
import {
  emptyDocument,
  formatEdge,
  parseEdge,
  type EdgeRef,
  type GraphDocument,
  type Link,
} from '../core/document';
import { autoLayout, NODE_SIZE, type Size } from '../core/layout';
import { shiftRow } from '../core/room';

const GAP = 48;

/**
 * Puts nodes of `source` into `document`, at `at`. Their inputs from `before` are connected to `feed`, or left open
 * without one. Nodes that took the picture from `feed` then take it from `output`; with `into`, only that link's target.
 */
export function insertFragment(
  document: GraphDocument,
  source: GraphDocument,
  ids: readonly string[],
  before: EdgeRef | null,
  feed: EdgeRef | null,
  output: EdgeRef | null,
  at: Point,
  into?: Link,
  sizeOf: (id: string) => Size = () => NODE_SIZE,
): { document: GraphDocument; ids: string[] } {
  const whole: GraphDocument = { ...emptyDocument(), ...source };
  const places = autoLayout(whole, () => NODE_SIZE, ids);
  const corner = {
    x: Math.min(...Object.values(places).map(({ x }) => x)),
    y: Math.min(...Object.values(places).map(({ y }) => y)),
  };
  const inside = new Set(ids);
  const views = Object.fromEntries(Object.entries(places).map(([id, { x, y }]) => [id, { x, y }]));
  const clip = copyNodes({ ...whole, view: { ...whole.view, nodes: views } }, ids);
  const rewired = (reference: EdgeRef | null): EdgeRef | null => {
    if (reference === null || inside.has(parseEdge(reference).node)) return reference;
    return reference === before ? feed : null;
  };
  for (const id of ids) {
    const node = clip.nodes[id];
    if (!node) continue;
    clip.nodes[id] = {
      ...node,
      ...(node.inputs ? { inputs: node.inputs.map(rewired) } : {}),
      ...(node.connections
        ? {
            connections: Object.fromEntries(
              Object.entries(node.connections)
                .map(([name, reference]) => [name, rewired(reference)] as const)
                .filter((pair): pair is [string, EdgeRef] => pair[1] !== null),
            ),
          }
        : {}),
    };
  }
  const room = Math.max(...Object.values(places).map(({ x }) => x)) - corner.x + NODE_SIZE.width + GAP;
  const opened = feed === null ? document : shiftRow(document, { ...at, ...NODE_SIZE }, room, sizeOf);
  const pasted = pasteNodes(opened, clip, { x: at.x - corner.x, y: at.y - corner.y });
  const given = output === null ? -1 : ids.indexOf(parseEdge(output).node);
  const end = pasted.ids[given];
  if (feed === null || output === null || end === undefined) return pasted;
  const to = { ...parseEdge(output), node: end };
  return {
    ...pasted,
    document: into
      ? connect(pasted.document, to, into.target)
      : redirected(pasted.document, feed, formatEdge(to), pasted.ids),
  };
}

/** The document with links from `from` redirected to `to`, except those of the nodes that make `to`. */
function redirected(
  document: GraphDocument,
  from: EdgeRef,
  to: EdgeRef,
  besides: readonly string[],
): GraphDocument {
  const swap = (reference: EdgeRef | null): EdgeRef | null => (reference === from ? to : reference);
  const nodes = Object.fromEntries(
    Object.entries(document.nodes).map(([id, node]) =>
      besides.includes(id) || !node.inputs?.includes(from)
        ? [id, node]
        : [id, { ...node, inputs: node.inputs.map(swap) }],
    ),
  );
  return { ...document, nodes, outputs: document.outputs.map((edge) => (edge === from ? to : edge)) };
}
