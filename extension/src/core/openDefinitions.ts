/**
 * Making, opening and closing sub-graphs. One that is edited stands open as a group of nodes, with the definition's
 * ports; closing it writes the definition, which all other instances follow.
 */
import type { Catalogue } from './catalogue';
import { interfaceOf, Parts, type Interface } from './definitionParts';
import { definitionName, definitionOf, inside, instancesOf, PREFIX } from './definitions';
import {
  bareEdge,
  formatEdge,
  freeName,
  links,
  parseEdge,
  type EdgeRef,
  type GraphDocument,
  type GraphNode,
  type Group,
  type Subgraph,
} from './document';
import { mapEdges, trimmed, without } from './edits/rewriting';
import { t } from './language';
import { cornerOf, FRAME, isInside } from './layout';

/** Distance of the nodes of an open sub-graph from its frame, whose corner is that of the closed one. */
const FRAME_EDGE = { x: FRAME.pad, y: FRAME.pad + FRAME.title };

/** A definition whose nodes have other names. */
function renamedInside(definition: Subgraph, nameOf: (id: string) => string): Subgraph {
  const moved = (reference: EdgeRef): EdgeRef => {
    const source = parseEdge(reference);
    return definition.nodes[source.node] ? formatEdge({ ...source, node: nameOf(source.node) }) : reference;
  };
  const renamed = mapEdges(inside(definition, {}), moved);
  const keys = <T>(record: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(record).map(([id, each]) => [nameOf(id), each]));
  const parameters = Object.entries(definition.arguments ?? {}).map(([parameter, targets]) => [
    parameter,
    targets.map(({ node, argument }) => ({ node: nameOf(node), argument })),
  ]);
  return {
    ...definition,
    arguments: Object.fromEntries(parameters) as Interface['parameters'],
    nodes: keys(renamed.nodes),
    outputs: definition.outputs.map(moved),
    view: { nodes: keys(renamed.view.nodes), notes: [], groups: [] },
  };
}

export interface MadeSubgraph {
  document: GraphDocument;
  id: string;
}

/** A node that lies between others: fed by some of them, and feeding some of them. */
function between(document: GraphDocument, members: ReadonlySet<string>): string | null {
  const all = links(document);
  const reached = (from: ReadonlySet<string>, forward: boolean): Set<string> => {
    const found = new Set<string>();
    const pending = [...from];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      for (const { source, target } of all) {
        const [here, there] = forward ? [source.node, target.node] : [target.node, source.node];
        if (here !== at || members.has(there) || found.has(there)) continue;
        found.add(there);
        pending.push(there);
      }
    }
    return found;
  };
  const after = reached(members, true);
  const before = reached(members, false);
  return [...after].find((id) => before.has(id)) ?? null;
}

/** Why nodes cannot become a sub-graph, or null. */
export function subgraphProblem(document: GraphDocument, ids: readonly string[]): string | null {
  const outside = between(document, new Set(ids));
  return outside === null
    ? null
    : t('"%1" lies between these nodes: select it too, so that they can be one.', outside);
}

/** Puts an instance of a definition made of nodes in their place. */
export function makeSubgraph(
  document: GraphDocument,
  catalogue: Catalogue,
  ids: readonly string[],
  name: string,
  group?: Group,
): MadeSubgraph {
  const names = group?.subgraph?.names ?? {};
  const old = group && document.subgraphs?.[name];
  const open = old && interfaceOf(old, names);
  const before = (id: string): GraphNode | undefined => old?.nodes[names[id] ?? ''];
  const members = Object.keys(document.nodes).filter((id) => ids.includes(id));
  const chosen = new Set(members);
  const parts = new Parts(document, catalogue, members, open);
  const edge = group ? FRAME_EDGE : { x: 0, y: 0 };
  const found = cornerOf(document, members);
  // In place of a frame its corner; else the place of the node that takes what comes in, as rows may lie between nodes.
  const fed = members.find((id) =>
    document.nodes[id]?.inputs?.some((input) => input !== null && !chosen.has(parseEdge(input).node)),
  );
  const { x = found.x, y = found.y } = document.view.nodes[fed ?? ''] ?? {};
  const corner = group ? { x: found.x - edge.x, y: found.y - edge.y } : { x, y };
  const places = Object.fromEntries(
    members.map((id) => {
      const place = document.view.nodes[id] ?? {};
      return [id, { ...place, x: (place.x ?? 0) - found.x, y: (place.y ?? 0) - found.y }];
    }),
  );
  const definition: Subgraph = {
    ...old,
    inputs: parts.inputs,
    arguments: parts.parameters,
    nodes: parts.nodes(before),
    outputs: parts.outputs,
    view: { nodes: places, notes: [], groups: [] },
  };
  const rest = without(document.nodes, chosen);
  const id = freeName(rest, group?.subgraph?.instance ?? name);
  const [firstOutput] = definition.outputs;
  const device = document.nodes[parseEdge(firstOutput ?? '').node]?.device ?? 'cpu';
  const instance: GraphNode = {
    op: PREFIX + name,
    device,
    inputs: trimmed(parts.given),
    arguments: open ? parts.constants(before) : {},
    connections: parts.connections,
  };
  const nodes: Record<string, GraphNode> = {};
  for (const [key, node] of Object.entries(document.nodes)) {
    if (!chosen.has(key)) nodes[key] = node;
    if (key === members.at(-1)) nodes[id] = instance;
  }
  const moved = mapEdges({ ...document, nodes }, (reference) => {
    const source = parseEdge(reference);
    if (!chosen.has(source.node)) return reference;
    const output = definition.outputs.indexOf(bareEdge(reference));
    return output < 0 ? null : formatEdge({ ...source, node: id, output });
  });
  const groups = document.view.groups
    .filter((each) => each.id !== group?.id)
    .map((each) => {
      const left = each.nodes.filter((member) => !chosen.has(member));
      return left.length === each.nodes.length
        ? each
        : {
            ...each,
            nodes:
              left.length > 0 || (each.subgraph && members.every((one) => each.nodes.includes(one)))
                ? [...left, id]
                : [],
          };
    })
    .filter((each) => each.nodes.length > 0);
  const taken: Record<string, unknown> = Object.fromEntries(parts.inputs.map((each) => [each, true]));
  const final = new Map<string, string>();
  for (const each of members) {
    // Where the name was taken on the canvas, the one inside is kept.
    const inner = names[each];
    const same =
      inner !== undefined && (each === inner || each.replace(/_\d+$/, '') === inner.replace(/_\d+$/, ''));
    const own = freeName(taken, same ? inner : each);
    taken[own] = true;
    final.set(each, own);
  }
  const written = renamedInside(definition, (each) => final.get(each) ?? each);
  const next = {
    ...moved,
    subgraphs: { ...document.subgraphs, [name]: written },
    view: {
      ...document.view,
      groups,
      nodes: { ...without(document.view.nodes, chosen), [id]: { x: corner.x, y: corner.y } },
    },
  };
  return { document: open ? followed(next, name, id, open, parts) : next, id };
}

/** Outputs of a definition that now have other places: links of other instances go along. */
function followed(
  document: GraphDocument,
  name: string,
  closed: string,
  open: Interface,
  parts: Parts,
): GraphDocument {
  const place = (output: number): number =>
    parts.outputs.indexOf(parts.continued.get(output) ?? open.outputs[output] ?? '');
  if (open.outputs.every((_, index) => place(index) === index)) return document;
  const others = new Set(instancesOf(document, name).filter((id) => id !== closed));
  return mapEdges(document, (reference) => {
    const source = parseEdge(reference);
    if (!others.has(source.node)) return reference;
    const output = place(source.output);
    return output < 0 ? null : formatEdge({ ...source, output });
  });
}

/** Opens an instance: its nodes stand on the canvas as a group, to be looked at and edited. */
export function openSubgraph(
  document: GraphDocument,
  id: string,
): { document: GraphDocument; group: string } | null {
  const instance = document.nodes[id];
  const name = definitionName(instance?.op);
  const definition = definitionOf(document, instance?.op);
  if (!instance || name === null || !definition) return null;
  const taken: Record<string, unknown> = { ...without(document.nodes, new Set([id])) };
  const names = new Map<string, string>();
  for (const inner of Object.keys(definition.nodes)) {
    const free = freeName(taken, inner);
    taken[free] = true;
    names.set(inner, free);
  }
  const given = new Map(definition.inputs.map((input, index) => [input, instance.inputs?.[index] ?? null]));
  const out = (reference: EdgeRef | null): EdgeRef | null => {
    if (reference === null) return null;
    const source = parseEdge(reference);
    const outer = given.get(source.node);
    if (outer !== undefined) return outer;
    const inner = names.get(source.node);
    return inner === undefined ? null : formatEdge({ ...source, node: inner });
  };
  const placed: Record<string, GraphNode> = {};
  for (const [inner, node] of Object.entries(definition.nodes)) {
    const free = names.get(inner) as string;
    placed[free] = {
      ...node,
      inputs: trimmed((node.inputs ?? []).map(out)),
      connections: Object.fromEntries(
        Object.entries(node.connections ?? {})
          .map(([key, reference]) => [key, out(reference)] as const)
          .filter((entry): entry is [string, EdgeRef] => entry[1] !== null),
      ),
    };
  }
  for (const [parameter, targets] of Object.entries(definition.arguments ?? {})) {
    for (const { node, argument } of targets) {
      const entry = placed[names.get(node) ?? ''];
      if (!entry) continue;
      const [value, reference] = [instance.arguments?.[parameter], instance.connections?.[parameter]];
      if (reference !== undefined) {
        entry.connections = { ...entry.connections, [argument]: reference };
        entry.arguments = without(entry.arguments ?? {}, new Set([argument]));
      } else if (value != null) {
        entry.arguments = { ...entry.arguments, [argument]: value };
        entry.connections = without(entry.connections ?? {}, new Set([argument]));
      }
    }
  }
  // A node in it may have the name of the instance, which others speak of.
  const rest = without(document.nodes, new Set([id]));
  const moved = mapEdges({ ...document, nodes: rest }, (reference) => {
    const source = parseEdge(reference);
    if (source.node !== id) return reference;
    const inner = out(definition.outputs[source.output] ?? null);
    return inner === null
      ? null
      : formatEdge({ ...parseEdge(inner), ...(source.device ? { device: source.device } : {}) });
  });
  const nodes: Record<string, GraphNode> = {};
  for (const key of Object.keys(document.nodes)) {
    if (key === id) Object.assign(nodes, placed);
    else nodes[key] = moved.nodes[key] as GraphNode;
  }
  const place = document.view.nodes[id] ?? {};
  const corner = { x: (place.x ?? 0) + FRAME_EDGE.x, y: (place.y ?? 0) + FRAME_EDGE.y };
  const views = Object.fromEntries(
    [...names].map(([inner, free]) => {
      const at = definition.view?.nodes[inner] ?? {};
      return [free, { ...at, x: Math.round((at.x ?? 0) + corner.x), y: Math.round((at.y ?? 0) + corner.y) }];
    }),
  );
  const ids = Object.fromEntries(document.view.groups.map((group) => [group.id, true]));
  const key = freeName(ids, 'group');
  const back = Object.fromEntries([...names].map(([inner, free]) => [free, inner]));
  const group: Group = {
    id: key,
    title: name,
    nodes: [...names.values()],
    subgraph: { name, instance: id, names: back },
  };
  // What it stands in, such as another sub-graph that is open, has its nodes for it.
  const groups = document.view.groups.map((each) =>
    each.nodes.includes(id)
      ? { ...each, nodes: each.nodes.flatMap((member) => (member === id ? [...names.values()] : [member])) }
      : each,
  );
  return {
    document: {
      ...moved,
      nodes,
      view: {
        ...document.view,
        nodes: { ...without(document.view.nodes, new Set([id])), ...views },
        groups: [...groups.filter((each) => each.nodes.length > 0), group],
      },
    },
    group: key,
  };
}

/** Closes a group that a sub-graph stands open as: the definition is what is in it now. */
export function closeSubgraph(
  document: GraphDocument,
  catalogue: Catalogue,
  group: Group,
): MadeSubgraph | null {
  const open = group.subgraph;
  if (!open || !document.subgraphs?.[open.name]) return null;
  // Sub-graphs that are open in it are closed before it.
  const inner = document.view.groups.find((each) => each.subgraph && isInside(document, each, group));
  if (inner) {
    const closed = closeSubgraph(document, catalogue, inner)?.document;
    const now = closed?.view.groups.find(({ id }) => id === group.id);
    return closed && now ? closeSubgraph(closed, catalogue, now) : null;
  }
  return makeSubgraph(document, catalogue, group.nodes, open.name, group);
}
