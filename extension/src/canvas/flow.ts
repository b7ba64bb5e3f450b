/** The document as React Flow sees it; objects stay the same where nothing changed, so that little is drawn. */
import type { Node, NodeChange } from '@xyflow/react';
import { kindOf, type Facts } from '../core/connect';
import { transferOf } from '../core/placement';
import { formatEdge, isArgument, links, targetKey, type GraphDocument } from '../core/document';
import { routeOf } from '../core/edits';
import type { Selection } from '../core/editor';
import { cornerOf, FRAME, groupBox, NODE_SIZE, placeOf, type Box, type Size } from '../core/layout';
import { flowName, graphName } from '../core/flowNames';
import { groupKey, hiddenNodes, portOf } from '../core/subgraphs';
import type { LinkEdgeType } from './LinkEdge';
import { t } from '../core/language';

export type FlowNode = Node<Record<string, never>, 'operator' | 'note' | 'frame' | 'title' | 'subgraph'>;

/** The z-index that React Flow adds to selected nodes; a frame stays behind its nodes and links, its title before links. */
const ELEVATED = 1000;

const NO_DATA: Record<string, never> = {};
/** The empty part of a title's strip is its frame's: links there can be pressed. */
const NO_POINTER = { pointerEvents: 'none' } as const;
const NO_ROUTE: readonly [number, number][] = [];

function isSelected(id: string, selection: Selection): boolean {
  return selection.item !== null && itemOf(id) === selection.item;
}

function reuse(old: FlowNode | undefined, next: FlowNode): FlowNode {
  if (!old) return next;
  const sameSize =
    old.type === 'operator' ||
    old.type === 'subgraph' ||
    (old.width === next.width && old.height === next.height);
  const same =
    old.type === next.type &&
    old.position.x === next.position.x &&
    old.position.y === next.position.y &&
    (old.selected ?? false) === next.selected &&
    sameSize;
  if (same && !old.dragging) return old;
  return old.measured && (next.type === 'operator' || next.type === 'subgraph')
    ? { ...next, measured: old.measured }
    : next;
}

/** The key of a group's title, which lies over links where its frame lies under them. */
export const titleKey = (id: string): string => `title:${id}`;

/** The frames of groups around their members as those are now: cards grow when their pictures come. */
export function fitFrames(
  document: GraphDocument,
  nodes: readonly FlowNode[],
  sizeOf: (id: string) => Size,
): FlowNode[] {
  return nodes.map((node) => {
    if ((node.type !== 'frame' && node.type !== 'title') || node.dragging) return node;
    const key = itemOf(node.id);
    const group = document.view.groups.find(({ id }) => id === key);
    if (!group) return node;
    const frame = groupBox(document, group, sizeOf);
    const { x, y, width, height } = node.type === 'frame' ? frame : titleBox(frame);
    if (node.width === width && node.height === height) return node;
    return { ...node, position: { x, y }, width, height, measured: { width, height } };
  });
}

/** The strip at the top of a frame that its title stands in. */
function titleBox(frame: Box): Box {
  return { ...frame, height: FRAME.title + FRAME.pad };
}

/** The id in the document of a note or group that React Flow has under this id. */
export function itemOf(id: string): string {
  return graphName(id.slice(id.indexOf(':') + 1));
}

/** Changes of titles as changes of their frames, which they are a part of; moves are those of both. */
export function titlesAsFrames(changes: NodeChange<FlowNode>[]): NodeChange<FlowNode>[] {
  const moved = new Set<string>();
  return changes.flatMap((change) => {
    const key = 'id' in change ? /^(?:title|group):(.*)$/s.exec(change.id)?.[1] : undefined;
    if (key === undefined) return [change];
    if (change.type === 'select') return [{ ...change, id: `group:${key}` }];
    if (change.type !== 'position') return [change];
    if (moved.has(key)) return [];
    moved.add(key);
    return ['group', 'title'].map((part) => ({ ...change, id: `${part}:${key}` }));
  });
}

/** The list before, where nothing in it has changed. */
function unchanged<T>(before: T[], now: T[]): T[] {
  return before.length === now.length && now.every((each, index) => each === before[index]) ? before : now;
}

export function flowNodes(
  document: GraphDocument,
  selection: Selection,
  before: FlowNode[],
  sizeOf: (id: string) => Size,
): FlowNode[] {
  const old = new Map(before.map((node) => [node.id, node]));
  const nodes: FlowNode[] = [];
  const hidden = hiddenNodes(document);
  for (const group of document.view.groups) {
    if (!group.nodes.some((id) => document.nodes[id])) continue;
    const id = flowName(groupKey(group.id));
    if (group.collapsed) {
      nodes.push(
        reuse(old.get(id), {
          id,
          type: 'subgraph',
          data: NO_DATA,
          position: cornerOf(document, group.nodes),
          initialWidth: NODE_SIZE.width,
          initialHeight: NODE_SIZE.height,
          ariaLabel: t('Group %1', group.title),
          selected: isSelected(id, selection),
        }),
      );
      continue;
    }
    const frame = groupBox(document, group, sizeOf);
    const selected = isSelected(id, selection);
    for (const [key, type, box, zIndex] of [
      [id, 'frame', frame, -2],
      [flowName(titleKey(group.id)), 'title', titleBox(frame), 0],
    ] as const) {
      const { x, y, width, height } = box;
      nodes.push(
        reuse(old.get(key), {
          id: key,
          type,
          data: NO_DATA,
          position: { x, y },
          width,
          height,
          zIndex: selected ? zIndex - ELEVATED : zIndex,
          selected,
          style: type === 'title' ? NO_POINTER : undefined,
        }),
      );
    }
  }
  for (const note of document.view.notes) {
    const id = flowName(`note:${note.id}`);
    nodes.push(
      reuse(old.get(id), {
        id,
        type: 'note',
        data: NO_DATA,
        position: { x: note.x, y: note.y },
        width: note.w,
        height: note.h,
        selected: isSelected(id, selection),
      }),
    );
  }
  for (const id of Object.keys(document.nodes)) {
    if (hidden.has(id)) continue;
    const key = flowName(id);
    nodes.push(
      reuse(old.get(key), {
        id: key,
        type: 'operator',
        data: NO_DATA,
        position: placeOf(document, id),
        ariaLabel: `${id}, ${document.nodes[id]?.op ?? ''}`,
        initialWidth: NODE_SIZE.width,
        initialHeight: NODE_SIZE.height,
        selected: selection.nodes.has(id),
      }),
    );
  }
  return unchanged(before, nodes);
}

export function flowEdges(facts: Facts, selection: Selection, before: LinkEdgeType[]): LinkEdgeType[] {
  const old = new Map(before.map((edge) => [edge.id, edge]));
  const hidden = hiddenNodes(facts.document);
  const edges = links(facts.document)
    .filter(({ source, target }) => {
      if (!facts.document.nodes[source.node]) return false;
      const inside = hidden.get(source.node);
      return inside === undefined || inside !== hidden.get(target.node);
    })
    .map(({ source, target }) => {
      const [from, to] = [hidden.get(source.node), hidden.get(target.node)];
      const [sourceId, targetId] = [
        flowName(from === undefined ? source.node : groupKey(from)),
        flowName(to === undefined ? target.node : groupKey(to)),
      ];
      const id = targetKey(target);
      const kind = kindOf(facts, source);
      const crosses = transferOf(facts.document, source, target);
      const selected = selection.links.has(id);
      const sourceHandle = portOf.output(source, from !== undefined);
      const route = to === undefined ? routeOf(facts.document, target) : NO_ROUTE;
      const previous = old.get(id);
      if (
        previous?.source === sourceId &&
        previous.target === targetId &&
        previous.sourceHandle === sourceHandle &&
        (previous.selected ?? false) === selected &&
        previous.data?.kind === kind &&
        previous.data.crosses === crosses &&
        previous.data.route === route
      ) {
        return previous;
      }
      return {
        id,
        type: 'link' as const,
        source: sourceId,
        sourceHandle,
        target: targetId,
        targetHandle: portOf.target(target, to !== undefined),
        selected,
        data: {
          kind,
          crosses,
          argument: isArgument(target),
          route,
          source: `${source.node}:${source.output}`,
          target: `${target.node}:${portOf.target(target, false)}`,
        },
        ariaLabel: isArgument(target)
          ? t('%1 feeds %2 of %3', formatEdge(source), target.argument, target.node)
          : t('%1 feeds %2', formatEdge(source), target.node),
      };
    });
  return unchanged(before, edges);
}
