/** Edits that do not affect results: places, notes, groups. */
import {
  freeName,
  isArgument,
  type GraphDocument,
  type Group,
  type NodeView,
  type Note,
  type Target,
} from '../document';
import { type Point, without, withViews } from './rewriting';

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

/** The points that a link passes through; none for a link that goes straight to its end. */
export function routeOf(document: GraphDocument, target: Target): readonly Route[] {
  return document.view.nodes[target.node]?.routes?.[routeKey(target)] ?? NO_ROUTE;
}

type Route = [number, number];

const NO_ROUTE: readonly Route[] = [];

const routeKey = (target: Target): string =>
  isArgument(target) ? `arg:${target.argument}` : `in:${target.input}`;

export function setRoute(document: GraphDocument, target: Target, points: readonly Point[]): GraphDocument {
  const { routes = {}, ...view } = document.view.nodes[target.node] ?? {};
  const key = routeKey(target);
  const route = points.map(({ x, y }): Route => [Math.round(x), Math.round(y)]);
  const next = route.length > 0 ? { ...routes, [key]: route } : without(routes, new Set([key]));
  const changed: NodeView = Object.keys(next).length > 0 ? { ...view, routes: next } : view;
  return withViews(document, { [target.node]: changed });
}

/** Links to these nodes go straight to them. */
export function straighten(document: GraphDocument, ids: readonly string[]): GraphDocument {
  const bent = ids.filter((id) => document.view.nodes[id]?.routes);
  const views = bent.map((id): [string, NodeView] => {
    const view = { ...document.view.nodes[id] };
    delete view.routes;
    return [id, view];
  });
  return bent.length > 0 ? withViews(document, Object.fromEntries(views)) : document;
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
