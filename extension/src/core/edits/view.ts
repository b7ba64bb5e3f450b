/** Edits that do not affect results: places, notes, groups. */
import { freeName, type GraphDocument, type Group, type NodeView, type Note } from '../document';
import { type Point, withViews } from './rewriting';

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
