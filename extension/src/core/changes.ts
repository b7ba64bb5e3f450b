/** Changes: the difference of two documents, node by node. The unit of undo and of what goes to the session. */
import type { EdgeRef, GraphDocument, GraphNode, Group, Note, NodeView, Value } from './document';

export interface Changes {
  nodes?: Record<string, GraphNode | null>;
  order?: string[];
  outputs?: EdgeRef[];
  pipeline?: Record<string, Value>;
  view?: { nodes?: Record<string, NodeView | null>; notes?: Note[]; groups?: Group[] };
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

export function diff(before: GraphDocument, after: GraphDocument): Changes {
  const changes: Changes = {};
  const nodes = diffRecord(before.nodes, after.nodes);
  if (nodes) changes.nodes = nodes;
  if (before.nodes !== after.nodes) {
    const expected = Object.keys(applyRecord(before.nodes, nodes));
    const order = Object.keys(after.nodes);
    if (expected.some((id, index) => id !== order[index])) changes.order = order;
  }
  if (!same(before.outputs, after.outputs)) changes.outputs = after.outputs;
  if (!same(before.pipeline, after.pipeline)) changes.pipeline = after.pipeline;
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
  if (changes.order) {
    const ordered: Record<string, GraphNode> = {};
    for (const id of changes.order) {
      const node = nodes[id];
      if (node) ordered[id] = node;
    }
    nodes = { ...ordered, ...nodes };
  }
  const view = changes.view
    ? {
        ...document.view,
        nodes: applyRecord(document.view.nodes, changes.view.nodes),
        notes: changes.view.notes ?? document.view.notes,
        groups: changes.view.groups ?? document.view.groups,
      }
    : document.view;
  return {
    ...document,
    nodes,
    pipeline: changes.pipeline ?? document.pipeline,
    outputs: changes.outputs ?? document.outputs,
    view,
  };
}

export function isEmpty(changes: Changes): boolean {
  return Object.keys(changes).length === 0;
}

/** Whether results may differ afterwards, so that previews and problems have to be asked for again. */
export function changesMeaning(changes: Changes, before: GraphDocument): boolean {
  if (changes.nodes || changes.order || changes.outputs || changes.pipeline) return true;
  return Object.entries(changes.view?.nodes ?? {}).some(
    ([id, view]) => Boolean(view?.bypass) !== Boolean(before.view.nodes[id]?.bypass),
  );
}
