/** Drawing links: what is allowed, and what happens where a link is dropped. */
import { useReactFlow, type Connection as FlowConnection, type FinalConnectionState } from '@xyflow/react';
import { useCallback, type RefObject } from 'react';
import * as actions from '../core/actions';
import type { Point } from '../core/edits';
import { canConnect, targetsOn } from '../core/connect';
import { targetKey, type Link, type Target } from '../core/document';
import { flowName, graphName } from '../core/flowNames';
import { NODE_SIZE } from '../core/layout';
import { outputOfPort, targetOfPort } from '../core/subgraphs';
import { links } from '../core/document';
import { useEditor } from './context';
import type { FlowNode } from './flow';
import { clientPoint, nodeAt } from './hits';
import type { LinkEdgeType } from './LinkEdge';
import type { MenuItem } from './Menu';
import { t } from '../core/language';

export interface CanvasMenu {
  at: Point;
  items: MenuItem[];
  label: string;
}

interface Connecting {
  isValidConnection: (connection: FlowConnection | LinkEdgeType) => boolean;
  endConnection: (event: MouseEvent | TouchEvent, state: FinalConnectionState, replaces?: Target) => void;
}

export function useConnecting(
  frame: RefObject<HTMLElement>,
  setMenu: (menu: CanvasMenu) => void,
): Connecting {
  const editor = useEditor();
  const flow = useReactFlow<FlowNode, LinkEdgeType>();

  const isValidConnection = useCallback(
    (connection: FlowConnection | LinkEdgeType): boolean => {
      const facts = editor.facts;
      if (!facts || !connection.targetHandle) return false;
      const source = outputOfPort(connection.source, connection.sourceHandle ?? 'out:0');
      return canConnect(facts, source, targetOfPort(connection.target, connection.targetHandle)).ok;
    },
    [editor],
  );

  const endConnection = useCallback(
    (event: MouseEvent | TouchEvent, state: FinalConnectionState, replaces?: Target) => {
      frame.current?.removeAttribute('data-connecting');
      const facts = editor.facts;
      const { fromNode, fromHandle, toNode, toHandle } = state;
      if (!facts || !fromNode || !fromHandle.id) return;
      const at = clientPoint(event);
      const place = flow.screenToFlowPosition(at);
      const onto = toNode ? graphName(toNode.id) : nodeAt(frame.current, at);
      if (fromHandle.type === 'source') {
        const source = outputOfPort(fromNode.id, fromHandle.id);
        if (toHandle?.id && toHandle.type === 'target') {
          actions.tryConnect(editor, source, targetOfPort(toHandle.nodeId, toHandle.id), at, replaces);
        } else if (onto !== null) {
          const id = onto;
          const fitting = targetsOn(facts, source, id);
          const first = fitting[0];
          if (fitting.length === 1 && first) actions.tryConnect(editor, source, first, at, replaces);
          else if (fitting.length > 1) {
            setMenu({
              at,
              label: t('Connect to %1', id),
              items: fitting.slice(0, 14).map((target) => ({
                id: targetKey(target),
                label:
                  'argument' in target
                    ? target.argument
                    : (facts.catalogue.operator(facts.document.nodes[id]?.op)?.inputs[target.input]?.name ??
                      t('input %1', target.input)),
                hint: 'argument' in target ? t('argument') : t('input'),
                run: () => actions.tryConnect(editor, source, target, at, replaces),
              })),
            });
          } else actions.tryConnect(editor, source, { node: id, input: 0 }, at, replaces);
        } else if (replaces) actions.disconnect(editor, [replaces]);
        else editor.prompts.patch({ quick: { at, place, from: source } });
      } else {
        const target = targetOfPort(fromNode.id, fromHandle.id);
        if (toHandle?.id && toHandle.type === 'source') {
          actions.tryConnect(editor, outputOfPort(toHandle.nodeId, toHandle.id), target, at);
        } else {
          if (onto !== null && onto !== graphName(fromNode.id))
            actions.tryConnect(editor, { node: onto, output: 0 }, target, at);
          else if (onto === null) editor.prompts.patch({ quick: { at, place, to: target } });
        }
      }
    },
    [editor, flow, frame, setMenu],
  );

  return { isValidConnection, endConnection };
}

/** The link that a lone node lies over, if it fits in there. */
export function useLinkUnder(frame: RefObject<HTMLElement>): (id: string) => Link | undefined {
  const editor = useEditor();
  const flow = useReactFlow<FlowNode, LinkEdgeType>();
  return useCallback(
    (id: string): Link | undefined => {
      const node = editor.history.document.nodes[id];
      const connected = node?.inputs?.some((reference) => reference !== null);
      const feeds = links(editor.history.document).some(({ source }) => source.node === id);
      const internal = flow.getInternalNode(flowName(id));
      if (!node || connected || feeds || !internal || !frame.current) return undefined;
      const { x, y } = internal.internals.positionAbsolute;
      const width = internal.measured.width ?? NODE_SIZE.width;
      const height = internal.measured.height ?? NODE_SIZE.height;
      for (const element of frame.current.querySelectorAll<SVGPathElement>('.react-flow__edge .link-path')) {
        const key = element.closest('.react-flow__edge')?.getAttribute('data-id');
        const length = element.getTotalLength();
        for (let step = 1; step < 16; step++) {
          const point = element.getPointAtLength((length * step) / 16);
          const across = point.x > x + 16 && point.x < x + width - 16;
          if (!across || point.y < y - 16 || point.y > y + height) continue;
          const link = key ? actions.linkByKey(editor.history.document, key) : undefined;
          if (link && actions.fitsLink(editor, node.op, link)) return link;
        }
      }
      return undefined;
    },
    [editor, flow, frame],
  );
}
