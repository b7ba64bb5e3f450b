/** The canvas: React Flow over the document, and the gestures that end in an edit. */
import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  MiniMap,
  ReactFlow,
  SelectionMode,
  useNodesInitialized,
  useReactFlow,
  useStoreApi,
  type EdgeChange,
  type NodeChange,
} from '@xyflow/react';
import { useCallback, useEffect, useMemo, useRef, useState, type DragEvent, type MouseEvent } from 'react';
import * as actions from '../core/actions';
import * as commands from '../core/commands';
import type { Point } from '../core/commands';
import { targetKey } from '../core/document';
import { open } from '../core/files';
import { NODE_SIZE, placeOf } from '../core/layout';
import { targetOfPort } from '../core/subgraphs';
import { ConnectionLine } from './ConnectionLine';
import { useEditor, usePanels, useValue } from './context';
import { cornerOf, flowEdges, fitFrames, flowNodes, type FlowNode } from './flow';
import { clientPoint, linkAt, nodeAt } from './hits';
import { LinkEdge, type LinkEdgeType } from './LinkEdge';
import { Menu } from './Menu';
import { NodeCard } from './NodeCard';
import { groupMenu, nodeMenu, noteMenu, paneMenu, selectionMenu } from './menus';
import { GroupNode, NoteNode } from './Notes';
import { SubgraphCard } from './SubgraphCard';
import { LEAST_ZOOM, MOST_ZOOM, useCanvasPort } from './useCanvasPort';
import { useFarWatch } from './useFar';
import { useKeptFocus } from './useKeptFocus';
import { useConnecting, useLinkUnder, type CanvasMenu } from './useConnecting';
import { t } from '../core/language';

const nodeTypes = { operator: NodeCard, note: NoteNode, frame: GroupNode, subgraph: SubgraphCard };
const edgeTypes = { link: LinkEdge };
export const OPERATOR_TYPE = 'application/x-dali-lab-operator';
/** With fewer nodes all stay mounted: panning then moves one layer and nothing else. */
const VISIBLE_ONLY_FROM = 60;

export function Canvas() {
  const editor = useEditor();
  const document = useValue(editor.document);
  const selection = useValue(editor.selection);
  const catalogue = useValue(editor.catalogue);
  const panels = usePanels();
  const readOnly = useValue(editor.info, (info) => info.readOnly);
  const flow = useReactFlow<FlowNode, LinkEdgeType>();
  const store = useStoreApi<FlowNode, LinkEdgeType>();
  useFarWatch();
  const frame = useRef<HTMLDivElement>(null);
  const pointer = useRef<Point | null>(null);
  const [dropLink, setDropLink] = useState<string | null>(null);
  const [menu, setMenu] = useState<CanvasMenu | null>(null);

  const sizeOf = useCallback(
    (id: string) => {
      const measured = flow.getInternalNode(id)?.measured;
      return { width: measured?.width ?? NODE_SIZE.width, height: measured?.height ?? NODE_SIZE.height };
    },
    [flow],
  );

  const [nodes, setNodes] = useState<FlowNode[]>([]);
  useEffect(() => {
    setNodes((before) => flowNodes(document, selection, before, sizeOf));
  }, [document, selection, sizeOf]);

  const edgeCache = useRef<LinkEdgeType[]>([]);
  const edges = useMemo(() => {
    if (!catalogue) return [];
    edgeCache.current = flowEdges({ document, catalogue }, selection, edgeCache.current);
    return edgeCache.current;
  }, [document, catalogue, selection]);
  const shownEdges = useMemo(
    () =>
      dropLink === null
        ? edges
        : edges.map((edge) => (edge.id === dropLink ? { ...edge, className: 'drop-target' } : edge)),
    [edges, dropLink],
  );

  const { touched, take } = useCanvasPort(frame, pointer, sizeOf);
  useKeptFocus(frame, nodes);

  // A document that was opened is shown whole, once its nodes have been measured and have their pictures.
  const opened = useValue(editor.opened);
  const initialized = useNodesInitialized();
  const fitted = useRef(0);
  useEffect(() => {
    if (!initialized || fitted.current === opened || nodes.length === 0) return;
    const show = (): void => {
      fitted.current = opened;
      if (!touched.current) editor.canvas?.fit();
      editor.shown();
    };
    const timer = setTimeout(show, 0);
    return () => clearTimeout(timer);
  }, [editor, initialized, opened, nodes.length, touched]);

  const onNodesChange = useCallback(
    (changes: NodeChange<FlowNode>[]) => {
      const selected = changes.filter((change) => change.type === 'select');
      if (selected.length > 0) {
        const current = editor.selection.get();
        const chosen = new Set(current.nodes);
        let item = current.item;
        for (const { id, selected: on } of selected) {
          const colon = id.indexOf(':');
          if (colon >= 0) {
            const key = id.slice(colon + 1);
            if (on) item = key;
            else if (item === key) item = null;
          } else if (on) chosen.add(id);
          else chosen.delete(id);
        }
        const same =
          item === current.item &&
          chosen.size === current.nodes.size &&
          [...chosen].every((id) => current.nodes.has(id));
        if (!same) editor.selection.set({ ...current, nodes: chosen, item });
      }
      const moved = changes.flatMap((change) =>
        change.type === 'position' && change.id.startsWith('group:') && change.position ? [change] : [],
      );
      setNodes((before) => {
        let next = applyNodeChanges(
          changes.filter((change) => change.type !== 'select' && change.type !== 'remove'),
          before,
        );
        // A group takes its members along.
        for (const { id, position } of moved) {
          const old = before.find((node) => node.id === id);
          const group = editor.history.document.view.groups.find((each) => `group:${each.id}` === id);
          if (!old || !group || !position) continue;
          const dx = position.x - old.position.x;
          const dy = position.y - old.position.y;
          const carried = changes.flatMap((change) => (change.type === 'position' ? [change.id] : []));
          next = next.map((node) =>
            group.nodes.includes(node.id) && !carried.includes(node.id)
              ? { ...node, position: { x: node.position.x + dx, y: node.position.y + dy } }
              : node,
          );
        }
        const grown = changes.some((change) => change.type === 'dimensions' && !change.id.includes(':'));
        return grown ? fitFrames(editor.history.document, next, sizeOf) : next;
      });
    },
    [editor, sizeOf],
  );

  const onEdgesChange = useCallback(
    (changes: EdgeChange<LinkEdgeType>[]) => {
      const chosen = new Set(editor.selection.get().links);
      for (const change of changes) {
        if (change.type !== 'select') continue;
        if (change.selected) chosen.add(change.id);
        else chosen.delete(change.id);
      }
      const current = editor.selection.get();
      if (chosen.size !== current.links.size || [...chosen].some((key) => !current.links.has(key))) {
        editor.selection.set({ ...current, links: chosen });
      }
    },
    [editor],
  );

  const linkUnder = useLinkUnder(frame);

  const onNodeDragStop = useCallback(
    (_: unknown, __: FlowNode, dragged: FlowNode[]) => {
      const start = editor.history.document;
      const positions: Record<string, Point> = {};
      const notes: [string, Point][] = [];
      const groups = dragged.filter(({ type }) => type === 'frame').map(({ id }) => id.slice(6));
      const members = start.view.groups
        .filter(({ id }) => groups.includes(id))
        .flatMap((group) => group.nodes);
      const all = flow.getNodes();
      for (const node of [...dragged, ...all.filter(({ id }) => members.includes(id))]) {
        if (node.type === 'operator') positions[node.id] = node.position;
        else if (node.type === 'note') notes.push([node.id.slice(5), node.position]);
        else if (node.type === 'subgraph') {
          const group = start.view.groups.find(({ id }) => `group:${id}` === node.id);
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
      if (only !== null && link && actions.dropOnLink(editor, only, link, positions)) return;
      const changed = editor.edit(
        Object.keys(positions).length > 1 ? t('Move nodes') : t('Move'),
        (document) =>
          notes.reduce(
            (result, [id, { x, y }]) => commands.setNote(result, id, { x: Math.round(x), y: Math.round(y) }),
            commands.moveNodes(document, positions),
          ),
      );
      if (!changed)
        setNodes((before) => flowNodes(editor.history.document, editor.selection.get(), before, sizeOf));
    },
    [editor, flow, linkUnder, sizeOf],
  );

  const copying = useRef(false);
  const onNodeDrag = useCallback(
    (_: unknown, node: FlowNode, dragged: FlowNode[]) => {
      // Alt-drag leaves a copy behind.
      if (copying.current) copyInPlace(editor, node.id);
      copying.current = false;
      if (dragged.length !== 1 || node.type !== 'operator') return;
      const link = linkUnder(node.id);
      setDropLink(link ? targetKey(link.target) : null);
    },
    [editor, linkUnder],
  );

  const { isValidConnection, endConnection } = useConnecting(frame, setMenu);

  const onDragOver = useCallback(
    (event: DragEvent) => {
      if (!event.dataTransfer.types.some((type) => type === OPERATOR_TYPE || type === 'Files')) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      const link = linkAt(frame.current, clientPoint(event), editor.history.document);
      setDropLink(link ? targetKey(link.target) : null);
    },
    [editor],
  );

  const onDrop = useCallback(
    (event: DragEvent) => {
      event.preventDefault();
      setDropLink(null);
      const file = event.dataTransfer.files[0];
      if (file) {
        file.text().then(
          (text) => open(editor, { text, name: file.name }),
          () => editor.notify('error', t('%1 could not be read.', file.name)),
        );
        return;
      }
      const op = event.dataTransfer.getData(OPERATOR_TYPE);
      if (!op) return;
      const client = clientPoint(event);
      const place = flow.screenToFlowPosition(client);
      const at = { x: place.x - NODE_SIZE.width / 2, y: place.y - 20 };
      const link = linkAt(frame.current, client, editor.history.document);
      actions.addOperator(editor, op, {
        at,
        ...(link && actions.fitsLink(editor, op, link) ? { into: link } : {}),
      });
      frame.current?.focus();
    },
    [editor, flow],
  );

  /** A click on one of several selected nodes chooses it; a drag takes all of them along, and is no click. */
  const chooseOne = useCallback(
    (event: MouseEvent, id: string | null) => {
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
    },
    [editor, store],
  );

  return (
    <div
      ref={frame}
      className="canvas"
      tabIndex={0}
      aria-label={t('Graph canvas')}
      onClick={(event) => {
        // The frame around what was selected by a rectangle lies over the nodes.
        if ((event.target as HTMLElement).classList.contains('react-flow__nodesselection-rect'))
          chooseOne(event, nodeAt(frame.current, clientPoint(event)));
      }}
      onPointerMove={(event) => {
        pointer.current = { x: event.clientX, y: event.clientY };
      }}
      onPointerLeave={() => {
        pointer.current = null;
      }}
      onPointerDown={(event) => {
        if (
          !(event.target as HTMLElement).closest(
            'input, textarea, select, button, [tabindex="0"]:not(.canvas):not(.react-flow__node)',
          )
        ) {
          frame.current?.focus({ preventScroll: true });
        }
      }}
      onDragOver={onDragOver}
      onDragLeave={() => setDropLink(null)}
      onDrop={onDrop}
    >
      <ReactFlow<FlowNode, LinkEdgeType>
        nodes={nodes}
        edges={shownEdges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onNodeDrag={onNodeDrag}
        onNodeDragStop={onNodeDragStop}
        onSelectionDragStop={(event, dragged) => onNodeDragStop(event, dragged[0] as FlowNode, dragged)}
        onNodeDragStart={(event, node) => {
          copying.current = event.altKey && node.type === 'operator';
        }}
        isValidConnection={isValidConnection}
        onConnectStart={() => frame.current?.setAttribute('data-connecting', '')}
        onConnectEnd={endConnection}
        onReconnect={() => undefined}
        onReconnectEnd={(event, edge, _, state) => {
          const { fromHandle, toHandle } = state;
          const old = targetOfPort(edge.target, edge.targetHandle ?? 'in:0');
          if (fromHandle?.type === 'source') {
            const unchanged = toHandle?.nodeId === edge.target && toHandle.id === edge.targetHandle;
            if (!unchanged) endConnection(event, state, old);
          } else if (toHandle?.type === 'source') endConnection(event, state);
          else if (!toHandle) actions.disconnect(editor, [old]);
        }}
        onNodeClick={(event, node) => chooseOne(event, node.id)}
        onNodeContextMenu={(event, node) => {
          event.preventDefault();
          if (node.type === 'frame' || node.type === 'subgraph') {
            const group = node.id.slice('group:'.length);
            editor.select([], [], group);
            setMenu({ at: clientPoint(event), label: t('Group'), items: groupMenu(editor, group) });
            return;
          }
          if (node.type === 'note') {
            editor.select([], [], node.id.slice('note:'.length));
            setMenu({ at: clientPoint(event), label: t('Note'), items: noteMenu(editor) });
            return;
          }
          if (!editor.selection.get().nodes.has(node.id)) editor.select([node.id]);
          setMenu({ at: clientPoint(event), label: node.id, items: nodeMenu(editor, node.id) });
        }}
        onSelectionContextMenu={(event) => {
          event.preventDefault();
          setMenu({ at: clientPoint(event), label: t('Selection'), items: selectionMenu(editor) });
        }}
        onEdgeContextMenu={(event, edge) => {
          event.preventDefault();
          const link = actions.linkByKey(editor.history.document, edge.id);
          if (!link) return;
          const at = clientPoint(event);
          setMenu({
            at,
            label: t('Link'),
            items: [
              { id: 'remove', label: t('Remove link'), run: () => actions.disconnect(editor, [link.target]) },
            ],
          });
        }}
        onPaneContextMenu={(event) => {
          event.preventDefault();
          setMenu({ at: clientPoint(event), label: t('Canvas'), items: paneMenu(editor) });
        }}
        onEdgeMouseEnter={(event, edge) => editor.hoveredLink.set({ key: edge.id, at: clientPoint(event) })}
        onEdgeMouseLeave={() => editor.hoveredLink.set(null)}
        onMoveStart={(event) => {
          editor.hoveredLink.set(null);
          if (event) take();
        }}
        onDoubleClick={(event) => {
          if ((event.target as HTMLElement).classList.contains('react-flow__pane') && !readOnly) {
            const at = clientPoint(event);
            editor.quick.set({ at, place: flow.screenToFlowPosition(at) });
          }
        }}
        connectionLineComponent={ConnectionLine}
        connectionRadius={24}
        connectOnClick={false}
        elevateNodesOnSelect
        nodesConnectable={!readOnly}
        edgesReconnectable={!readOnly}
        reconnectRadius={12}
        deleteKeyCode={null}
        selectionKeyCode="Shift"
        multiSelectionKeyCode={['Shift', 'Meta', 'Control']}
        selectionMode={SelectionMode.Partial}
        panActivationKeyCode="Space"
        disableKeyboardA11y
        zoomOnDoubleClick={false}
        minZoom={LEAST_ZOOM}
        maxZoom={MOST_ZOOM}
        snapToGrid={false}
        onlyRenderVisibleElements={nodes.length >= VISIBLE_ONLY_FROM}
        proOptions={{ hideAttribution: true }}
        onInit={() => {
          store.getState().setMinZoom(LEAST_ZOOM);
        }}
      >
        <Background variant={BackgroundVariant.Dots} gap={24} size={1.25} />
        {panels.minimap && nodes.length > 0 && (
          <MiniMap
            pannable
            zoomable
            ariaLabel={t('Overview')}
            nodeStrokeWidth={0}
            style={{ width: 144, height: 88 }}
          />
        )}
      </ReactFlow>
      {menu && (
        <Menu
          anchor={{ left: menu.at.x, top: menu.at.y, bottom: menu.at.y }}
          label={menu.label}
          items={menu.items}
          onClose={() => setMenu(null)}
        />
      )}
    </div>
  );
}

/** A copy at the place where the dragged node was. */
function copyInPlace(editor: ReturnType<typeof useEditor>, id: string): void {
  const clip = commands.copyNodes(editor.history.document, [id]);
  editor.edit(
    t('Duplicate %1', id),
    (document) => commands.pasteNodes(document, clip, { x: 0, y: 0 }).document,
  );
}
