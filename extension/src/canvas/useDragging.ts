/** Nodes that are dragged: moved as one step, put into the link that they are dropped on, or copied. */
import { useReactFlow } from '@xyflow/react';
import { useCallback, useMemo, useRef, type RefObject } from 'react';
import { dropOnLink } from '../core/actions';
import { targetKey } from '../core/document';
import * as edits from '../core/edits';
import type { Point } from '../core/edits';
import type { Editor } from '../core/editor';
import { t } from '../core/language';
import { cornerOf, placeOf } from '../core/layout';
import { useEditor } from './context';
import { graphName } from '../core/flowNames';
import { itemOf, type FlowNode } from './flow';
import type { LinkEdgeType } from './LinkEdge';
import { useLinkUnder } from './useConnecting';

/** React Flow's handlers for drags. `putBack` shows nodes where they are in the document. */
export function useDragging(
  frame: RefObject<HTMLDivElement>,
  setDropLink: (key: string | null) => void,
  putBack: () => void,
) {
  const editor = useEditor();
  const flow = useReactFlow<FlowNode, LinkEdgeType>();
  const linkUnder = useLinkUnder(frame);

  const onNodeDragStop = useCallback(
    (_: unknown, __: FlowNode, dragged: FlowNode[]) => {
      const start = editor.history.document;
      const positions: Record<string, Point> = {};
      const notes: [string, Point][] = [];
      const groups = dragged
        .filter(({ type }) => type === 'frame' || type === 'title')
        .map(({ id }) => itemOf(id));
      const members = start.view.groups
        .filter(({ id }) => groups.includes(id))
        .flatMap((group) => group.nodes);
      const all = flow.getNodes();
      for (const node of [...dragged, ...all.filter(({ id }) => members.includes(graphName(id)))]) {
        if (node.type === 'operator') positions[graphName(node.id)] = node.position;
        else if (node.type === 'note') notes.push([itemOf(node.id), node.position]);
        else if (node.type === 'subgraph') {
          const group = start.view.groups.find(({ id }) => id === itemOf(node.id));
          const corner = cornerOf(start, group?.nodes ?? []);
          for (const id of group?.nodes ?? []) {
            const place = placeOf(start, id);
            positions[id] = {
              x: place.x + node.position.x - corner.x,
              y: place.y + node.position.y - corner.y,
            };
          }
        }
      }
      const only =
        dragged.length === 1 && dragged[0]?.type === 'operator'
          ? (Object.keys(positions)[0] as string)
          : null;
      const link = only === null ? undefined : linkUnder(only);
      setDropLink(null);
      if (only !== null && link && dropOnLink(editor, only, link, positions)) return;
      const changed = editor.edit(
        Object.keys(positions).length > 1 ? t('Move nodes') : t('Move'),
        (document) =>
          notes.reduce(
            (result, [id, { x, y }]) => edits.setNote(result, id, { x: Math.round(x), y: Math.round(y) }),
            edits.moveNodes(document, positions),
          ),
      );
      if (!changed) putBack();
    },
    [editor, flow, linkUnder, putBack, setDropLink],
  );

  const copying = useRef(false);
  const onNodeDrag = useCallback(
    (_: unknown, node: FlowNode, dragged: FlowNode[]) => {
      // Alt-drag leaves a copy behind.
      if (copying.current) copyInPlace(editor, graphName(node.id));
      copying.current = false;
      if (dragged.length !== 1 || node.type !== 'operator') return;
      const link = linkUnder(graphName(node.id));
      setDropLink(link ? targetKey(link.target) : null);
    },
    [editor, linkUnder, setDropLink],
  );

  return useMemo(
    () => ({
      onNodeDrag,
      onNodeDragStop,
      onSelectionDragStop: (event: unknown, dragged: FlowNode[]) =>
        onNodeDragStop(event, dragged[0] as FlowNode, dragged),
      onNodeDragStart: (event: { altKey: boolean }, node: FlowNode) => {
        copying.current = event.altKey && node.type === 'operator';
      },
    }),
    [onNodeDrag, onNodeDragStop],
  );
}

/** A copy at the place where the dragged node was. */
function copyInPlace(editor: Editor, id: string): void {
  const clip = edits.copyNodes(editor.history.document, [id]);
  editor.edit(t('Duplicate %1', id), (document) => edits.pasteNodes(document, clip, { x: 0, y: 0 }).document);
}
