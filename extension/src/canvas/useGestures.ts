/** Handlers of presses, double clicks and context menus on the canvas; they stay the same objects. */
import { useReactFlow, useStoreApi, type ReactFlowProps } from '@xyflow/react';
import { useMemo, type MouseEvent, type RefObject } from 'react';
import * as actions from '../core/actions';
import { routeOf } from '../core/edits';
import { t } from '../core/language';
import { targetOfPort } from '../core/subgraphs';
import { useEditor } from './context';
import { graphName } from '../core/flowNames';
import { itemOf, type FlowNode } from './flow';
import { clientPoint } from './hits';
import type { LinkEdgeType } from './LinkEdge';
import { groupMenu, item, nodeMenu, noteMenu, paneMenu, selectionMenu } from './menus';
import { LEAST_ZOOM, type CanvasView } from './useCanvasPort';
import type { CanvasMenu, useConnecting } from './useConnecting';

type Properties = ReactFlowProps<FlowNode, LinkEdgeType>;

interface Needs extends Pick<CanvasView, 'take' | 'moved'> {
  frame: RefObject<HTMLDivElement | null>;
  readOnly: boolean;
  setMenu: (menu: CanvasMenu) => void;
  endConnection: ReturnType<typeof useConnecting>['endConnection'];
}

/** React Flow's handlers. With new ones it would draw all nodes again, at each step of a drag. */
export function useGestures({ frame, readOnly, setMenu, endConnection, take, moved }: Needs) {
  const editor = useEditor();
  const flow = useReactFlow<FlowNode, LinkEdgeType>();
  const store = useStoreApi<FlowNode, LinkEdgeType>();
  return useMemo(() => {
    /** A click on one of several selected nodes chooses it; a drag takes all of them along, and is no click. */
    const chooseOne = (event: MouseEvent, id: string | null): void => {
      const { nodes: chosen } = editor.selection.get();
      const more = event.shiftKey || event.metaKey || event.ctrlKey;
      if (
        id === null ||
        more ||
        (event.target as HTMLElement).closest('.nodrag') ||
        chosen.size < 2 ||
        !chosen.has(id)
      )
        return;
      store.setState({ nodesSelectionActive: false });
      editor.select([id]);
    };
    const handlers = {
      onInit: () => store.getState().setMinZoom(LEAST_ZOOM),
      onConnectStart: () => frame.current?.setAttribute('data-connecting', ''),
      onConnectEnd: endConnection,
      onReconnect: () => undefined,
      onReconnectEnd: (event, edge, _, state) => {
        const { fromHandle, toHandle } = state;
        const old = targetOfPort(edge.target, edge.targetHandle ?? 'in:0');
        if (fromHandle?.type === 'source') {
          const unchanged = toHandle?.nodeId === edge.target && toHandle.id === edge.targetHandle;
          if (!unchanged) endConnection(event, state, old);
        } else if (toHandle?.type === 'source') endConnection(event, state);
        else if (!toHandle) actions.disconnect(editor, [old]);
      },
      onNodeClick: (event, node) => chooseOne(event, graphName(node.id)),
      onNodeContextMenu: (event, node) => {
        event.preventDefault();
        if (node.type === 'frame' || node.type === 'title' || node.type === 'subgraph') {
          const group = itemOf(node.id);
          editor.select([], [], group);
          setMenu({ at: clientPoint(event), label: t('Group'), items: groupMenu(editor, group) });
          return;
        }
        if (node.type === 'note') {
          editor.select([], [], itemOf(node.id));
          setMenu({ at: clientPoint(event), label: t('Note'), items: noteMenu(editor) });
          return;
        }
        const name = graphName(node.id);
        if (!editor.selection.get().nodes.has(name)) editor.select([name]);
        setMenu({ at: clientPoint(event), label: name, items: nodeMenu(editor, name) });
      },
      onSelectionContextMenu: (event) => {
        event.preventDefault();
        setMenu({ at: clientPoint(event), label: t('Selection'), items: selectionMenu(editor) });
      },
      onEdgeDoubleClick: (event, edge) => {
        const link = actions.linkByKey(editor.history.document, edge.id);
        if (link) actions.addRoutePoint(editor, link.target, flow.screenToFlowPosition(clientPoint(event)));
      },
      onEdgeContextMenu: (event, edge) => {
        event.preventDefault();
        const link = actions.linkByKey(editor.history.document, edge.id);
        if (!link) return;
        editor.select([], [edge.id]);
        const at = clientPoint(event);
        setMenu({
          at,
          label: t('Link'),
          items: [
            {
              id: 'point',
              label: t('Add a point'),
              run: () => actions.addRoutePoint(editor, link.target, flow.screenToFlowPosition(at)),
            },
            ...(routeOf(editor.history.document, link.target).length > 0
              ? [
                  {
                    id: 'straighten',
                    label: t('Straighten'),
                    run: () => actions.setRoute(editor, link.target, []),
                  },
                ]
              : []),
            item(editor, 'subgraph'),
            { id: 'remove', label: t('Remove link'), run: () => actions.disconnect(editor, [link.target]) },
          ],
        });
      },
      onPaneContextMenu: (event) => {
        event.preventDefault();
        setMenu({ at: clientPoint(event), label: t('Canvas'), items: paneMenu(editor) });
      },
      onEdgeMouseEnter: (event, edge) =>
        editor.view.patch({ hoveredLink: { key: edge.id, at: clientPoint(event) } }),
      onEdgeMouseLeave: () => editor.view.patch({ hoveredLink: null }),
      onMoveStart: (event) => {
        editor.view.patch({ hoveredLink: null });
        if (!event) return;
        take();
        moved();
      },
      onMove: (event) => {
        if (event) moved();
      },
      onDoubleClick: (event) => {
        if ((event.target as HTMLElement).classList.contains('react-flow__pane') && !readOnly) {
          const at = clientPoint(event);
          editor.prompts.patch({ quick: { at, place: flow.screenToFlowPosition(at) } });
        }
      },
    } satisfies Properties;
    return { chooseOne, ...handlers };
  }, [editor, flow, store, frame, readOnly, setMenu, endConnection, take, moved]);
}
