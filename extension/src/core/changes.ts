/** Changes: the difference of two documents, argument by argument. The unit of undo and of edit requests. */
import { switchOf } from './document';
import type {
  Changes,
  Entries,
  GraphDocument,
  GraphNode,
  NodePatch,
  Subgraph,
  Value,
} from './protocol.generated';

export type { Changes, Entries, NodePatch } from './protocol.generated';

const PARTS = ['arguments', 'connections'] as const;

function diffEntries<T>(before: Record<string, T>, after: Record<string, T>): Entries<T> | undefined {
  if (before === after) return undefined;
  const set: Record<string, T> = {};
  const unset = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  for (const [key, value] of Object.entries(after)) {
    if (!Object.hasOwn(before, key) || !same(before[key], value)) set[key] = value;
  }
  const changes: Entries<T> = {};
  if (Object.keys(set).length > 0) changes.set = set;
  if (unset.length > 0) changes.unset = unset;
  const order = Object.keys(after);
  const expected = Object.keys(applyEntries(before, changes));
  if (!isEmpty(changes) && order.some((key, index) => key !== expected[index])) changes.order = order;
  return isEmpty(changes) ? undefined : changes;
}

function applyEntries<T>(record: Record<string, T>, { set, unset, order }: Entries<T>): Record<string, T> {
  const gone = new Set(unset);
  const kept = Object.entries({ ...record, ...set }).filter(
    ([key]) => !gone.has(key) || (set !== undefined && Object.hasOwn(set, key)),
  );
  const result = Object.fromEntries(kept);
  return order ? ordered(result, order) : result;
}

function ordered<T>(record: Record<string, T>, order: readonly string[]): Record<string, T> {
  const known = order.filter((key) => Object.hasOwn(record, key));
  const first = Object.fromEntries(known.map((key) => [key, record[key] as T]));
  return { ...first, ...record };
}

function patchOf(before: GraphNode, after: GraphNode): NodePatch | undefined {
  const patch: NodePatch = {};
  const left: Record<string, unknown> = { ...before };
  const right: Record<string, unknown> = { ...after };
  for (const part of PARTS) {
    const [from, to] = [before[part], after[part]];
    if (!from || !to) continue;
    const entries = diffEntries<Value>(from, to);
    if (entries) Object.assign(patch, { [part]: entries });
    // A part that is sent entry by entry is not sent again as a whole.
    right[part] = left[part];
  }
  return { ...diffEntries(left, right), ...patch };
}

function patched(node: GraphNode, patch: NodePatch): GraphNode {
  const result = applyEntries<unknown>(node, patch) as GraphNode;
  for (const part of PARTS) {
    const entries = patch[part];
    if (entries) Object.assign(result, { [part]: applyEntries<Value>(result[part] ?? {}, entries) });
  }
  return result;
}

function diffRecord<T>(
  before: Record<string, T>,
  after: Record<string, T>,
): Record<string, T | null> | undefined {
  if (before === after) return undefined;
  const changed: Record<string, T | null> = {};
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) changed[key] = null;
  for (const [key, value] of Object.entries(after)) {
    if (!Object.hasOwn(before, key) || !same(before[key], value)) changed[key] = value;
  }
  return Object.keys(changed).length > 0 ? changed : undefined;
}

function applyRecord<T>(
  record: Record<string, T>,
  changes: Record<string, T | null> | undefined,
): Record<string, T> {
  if (!changes) return record;
  const result = { ...record };
  for (const [key, value] of Object.entries(changes)) {
    // Keys are people's names for nodes; deleting by key is what a record is for.
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete
    if (value === null) delete result[key];
    else result[key] = value;
  }
  return result;
}

/** Equality of JSON values, quick for the shared structure of immutable documents. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && same(left[key], right[key]));
}

function diffNodes(before: GraphDocument, after: GraphDocument): Changes {
  const changes: Changes = {};
  const whole = diffRecord(before.nodes, after.nodes);
  if (whole) {
    const patches: Record<string, NodePatch> = {};
    for (const [id, node] of Object.entries(whole)) {
      const old = before.nodes[id];
      // Another operator has other arguments: then the node is sent as a whole.
      if (node === null || !old || old.op !== node.op) continue;
      const patch = patchOf(old, node);
      if (!patch) continue;
      patches[id] = patch;
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete
      delete whole[id];
    }
    if (Object.keys(whole).length > 0) changes.nodes = whole;
    if (Object.keys(patches).length > 0) changes.patches = patches;
  }
  if (before.nodes !== after.nodes) {
    const expected = Object.keys(applyRecord(before.nodes, changes.nodes));
    const order = Object.keys(after.nodes);
    if (expected.some((id, index) => id !== order[index])) changes.order = order;
  }
  return changes;
}

export function diff(before: GraphDocument, after: GraphDocument): Changes {
  const changes = diffNodes(before, after);
  if (!same(before.outputs, after.outputs)) changes.outputs = after.outputs;
  const pipeline = diffEntries<Value>(before.pipeline, after.pipeline);
  if (pipeline) changes.pipeline = pipeline;
  const subgraphs = diffRecord(before.subgraphs ?? {}, after.subgraphs ?? {});
  if (subgraphs) changes.subgraphs = subgraphs;
  const view: NonNullable<Changes['view']> = {};
  const viewNodes = diffRecord(before.view.nodes, after.view.nodes);
  if (viewNodes) view.nodes = viewNodes;
  if (!same(before.view.notes, after.view.notes)) view.notes = after.view.notes;
  if (!same(before.view.groups, after.view.groups)) view.groups = after.view.groups;
  if (Object.keys(view).length > 0) changes.view = view;
  return changes;
}

export function apply(document: GraphDocument, changes: Changes): GraphDocument {
  let nodes = applyRecord(document.nodes, changes.nodes);
  if (changes.patches) {
    nodes = { ...nodes };
    for (const [id, patch] of Object.entries(changes.patches)) {
      const node = nodes[id];
      // A node that somebody else has removed stays so.
      if (node) nodes[id] = patched(node, patch);
    }
  }
  if (changes.order) nodes = ordered(nodes, changes.order);
  const view = changes.view
    ? {
        ...document.view,
        nodes: applyRecord(document.view.nodes, changes.view.nodes),
        notes: changes.view.notes ?? document.view.notes,
        groups: changes.view.groups ?? document.view.groups,
      }
    : document.view;
  const { subgraphs: before, ...rest } = document;
  const subgraphs = applyRecord(before ?? NONE, changes.subgraphs);
  return {
    ...rest,
    ...(Object.keys(subgraphs).length > 0 ? { subgraphs } : {}),
    nodes,
    pipeline: changes.pipeline ? applyEntries<Value>(document.pipeline, changes.pipeline) : document.pipeline,
    outputs: changes.outputs ?? document.outputs,
    view,
  };
}

const NONE: Readonly<Record<string, Subgraph>> = {};

export function isEmpty(changes: object): boolean {
  return Object.keys(changes).length === 0;
}

/** Whether results may differ afterwards, so that previews and problems have to be asked for again. */
export function changesMeaning(changes: Changes, before: GraphDocument): boolean {
  if (
    changes.nodes ||
    changes.patches ||
    changes.order ||
    changes.outputs ||
    changes.pipeline ||
    changes.subgraphs
  )
    return true;
  return Object.entries(changes.view?.nodes ?? {}).some(
    ([id, view]) => switchOf(view) !== switchOf(before.view.nodes[id]),
  );
}
