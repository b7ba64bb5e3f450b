/** Edits of links, and of the pipeline's outputs. */
import {
  bareEdge,
  formatEdge,
  isArgument,
  links,
  parseEdge,
  type EdgeRef,
  type GraphDocument,
  type OutputRef,
  type Target,
} from '../document';
import { withNode, without, trimmed, withDevice } from './rewriting';

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
 * Connects, and moves the mark of the pipeline's output along when a fresh node continues the end of
 * the chain.
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

/** Whether the pipeline gives this output, on whichever device. */
export function isOutput(document: GraphDocument, reference: EdgeRef): boolean {
  return document.outputs.some((output) => bareEdge(output) === reference);
}

export function toggleOutput(document: GraphDocument, reference: EdgeRef): GraphDocument {
  if (!document.nodes[parseEdge(reference).node]) return document;
  const outputs = isOutput(document, reference)
    ? document.outputs.filter((output) => bareEdge(output) !== reference)
    : [...document.outputs, reference];
  return { ...document, outputs };
}
