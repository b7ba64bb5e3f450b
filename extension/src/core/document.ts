/** The graph document: its types, and what can be read from it without knowing any operator. */

import { t } from './language';
import type { EdgeRef, GraphDocument, NodeView } from './protocol.generated';

export type {
  EdgeRef,
  GraphDocument,
  GraphNode,
  Group,
  Note,
  NodeView,
  Subgraph,
  SubgraphArgument,
  Value,
  View,
} from './protocol.generated';

export type Device = 'cpu' | 'gpu' | 'mixed';
/** The switch of a node that is off; disabled counts more than bypassed. */
export function switchOf(view: NodeView | null | undefined): 'bypass' | 'disabled' | null {
  return view?.disabled ? 'disabled' : view?.bypass ? 'bypass' : null;
}

export interface OutputRef {
  node: string;
  output: number;
  /** The device that an output of the pipeline is handed out on, if it names one. */
  device?: 'cpu' | 'gpu';
}

/** The end of a link: an input by index or an argument by name. */
export type Target = { node: string; input: number } | { node: string; argument: string };

export interface Link {
  source: OutputRef;
  target: Target;
}

const FORMAT = 'dali-lab/graph';
const VERSION = 1;

export class DocumentError extends Error {}

export function emptyDocument(): GraphDocument {
  return {
    format: FORMAT,
    version: VERSION,
    pipeline: { batch_size: 8, num_threads: 2, device_id: null, seed: 42, prefetch_queue_depth: 2 },
    nodes: {},
    outputs: [],
    view: { nodes: {}, notes: [], groups: [] },
  };
}

const REFERENCE = /^(.*?)(?::(\d+))?(?:@(cpu|gpu))?$/s;

export function parseEdge(reference: EdgeRef): OutputRef {
  const [, node = reference, output, device] = REFERENCE.exec(reference) ?? [];
  return { node, output: Number(output ?? 0), ...(device ? { device: device as 'cpu' | 'gpu' } : {}) };
}

export function formatEdge({ node, output, device }: OutputRef): EdgeRef {
  // A name that itself looks like a reference is written with its output.
  const base = output === 0 && !/@[cg]pu$/.test(node) ? node : `${node}:${output}`;
  return device ? `${base}@${device}` : base;
}

/** The reference without the device that it is handed out on. */
export function bareEdge(reference: EdgeRef): EdgeRef {
  const { node, output } = parseEdge(reference);
  return formatEdge({ node, output });
}

export function isArgument(target: Target): target is { node: string; argument: string } {
  return 'argument' in target;
}

export function targetKey(target: Target): string {
  return isArgument(target) ? `${target.node}:arg:${target.argument}` : `${target.node}:in:${target.input}`;
}

/** All links, in the order of the nodes. */
export function links(document: GraphDocument): Link[] {
  const found: Link[] = [];
  for (const [id, node] of Object.entries(document.nodes)) {
    node.inputs?.forEach((reference, input) => {
      if (reference !== null) found.push({ source: parseEdge(reference), target: { node: id, input } });
    });
    for (const [argument, reference] of Object.entries(node.connections ?? {})) {
      found.push({ source: parseEdge(reference), target: { node: id, argument } });
    }
  }
  return found;
}

/** The nodes that `id` depends on, itself left out. */
export function upstream(document: GraphDocument, id: string): Set<string> {
  const seen = new Set<string>();
  const pending = [id];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    const node = document.nodes[current];
    if (!node) continue;
    for (const reference of [...(node.inputs ?? []), ...Object.values(node.connections ?? {})]) {
      if (reference === null) continue;
      const source = parseEdge(reference).node;
      if (!seen.has(source)) {
        seen.add(source);
        pending.push(source);
      }
    }
  }
  seen.delete(id);
  return seen;
}

/** All that `id` depends on and itself, in the order in which a sample goes through: inputs first, then arguments. */
export function lineage(document: GraphDocument, id: string): string[] {
  const order: string[] = [];
  const seen = new Set<string>();
  const visit = (current: string): void => {
    const node = document.nodes[current];
    if (!node || seen.has(current)) return;
    seen.add(current);
    for (const reference of [...(node.inputs ?? []), ...Object.values(node.connections ?? {})]) {
      if (reference !== null) visit(parseEdge(reference).node);
    }
    order.push(current);
  };
  visit(id);
  return order;
}

/** Fills in defaults and refuses anything but a graph of this version; unknown keys stay as they are. */
export function checkDocument(data: unknown): GraphDocument {
  if (!isObject(data)) throw new DocumentError(t('This file holds no graph: it should be a JSON object.'));
  const { format, version, nodes, view, pipeline, outputs } = data;
  if (format !== undefined && format !== FORMAT)
    throw new DocumentError(t('This file says that it is %1, not "%2".', JSON.stringify(format), FORMAT));
  if (typeof version === 'number' && version > VERSION) {
    throw new DocumentError(
      t(
        'This file was written by a newer version of DALI Lab (format %1; this one reads %2). Nothing was changed; update dali-lab to open it.',
        version,
        VERSION,
      ),
    );
  }
  if (!isObject(nodes)) throw new DocumentError(t('This file holds no graph: it has no "nodes".'));
  const wrong = Object.entries(nodes).find(([, node]) => !isObject(node) || typeof node['op'] !== 'string');
  if (wrong) throw new DocumentError(t('The node "%1" names no operator.', wrong[0]));
  if ((view !== undefined && !isObject(view)) || (pipeline !== undefined && !isObject(pipeline)))
    throw new DocumentError(t('"pipeline" and "view" should be objects.'));
  const empty = emptyDocument();
  return {
    ...data,
    format: FORMAT,
    version: VERSION,
    pipeline: pipeline ?? empty.pipeline,
    nodes,
    outputs: Array.isArray(outputs) ? (outputs as EdgeRef[]) : [],
    view: { ...empty.view, ...view },
  } as GraphDocument;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A name that no node has: the base itself, or with a number. */
export function freeName(taken: Readonly<Record<string, unknown>>, base: string): string {
  if (!Object.hasOwn(taken, base)) return base;
  const stem = base.replace(/_\d+$/, '');
  for (let number = 2; ; number++) {
    const name = `${stem}_${number}`;
    if (!Object.hasOwn(taken, name)) return name;
  }
}

/** Why a text cannot be the name of a node, or null. */
export function nameProblem(document: GraphDocument, name: string, current?: string): string | null {
  if (name.trim() === '') return t('A name needs at least one character.');
  if (name.includes(':')) return t('A name has no colon: "name:1" means the second output of a node.');
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f]/.test(name)) return t('A name has no control characters.');
  if (name in Object.prototype) return t('This name is reserved.');
  if (name !== current && Object.hasOwn(document.nodes, name)) return t('Another node is named "%1".', name);
  return null;
}
