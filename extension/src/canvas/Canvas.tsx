/** The canvas: React Flow over the document, and the gestures that end in an edit. */
import {
  Background,
  BackgroundVariant,
  MiniMap,
  ReactFlow,
  SelectionMode,
  useKeyPress,
  useNodesInitialized,
  useReactFlow,
  useStore,
} from '@xyflow/react';
import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Point } from '../core/edits';
import { flowName } from '../core/flowNames';
import { NODE_SIZE } from '../core/layout';
import { OVERVIEW_SIZE, overviewCorner, type Corner } from '../core/overview';
import { ConnectionLine } from './ConnectionLine';
import { useEditor, usePanels, useValue } from './context';
import { flowEdges, flowNodes, type FlowNode } from './flow';
import { clientPoint, nodeAt } from './hits';
import { LinkEdge, type LinkEdgeType } from './LinkEdge';
import { Menu } from './Menu';
import { NodeCard } from './NodeCard';
import { People } from './People';
import { GroupFrame, GroupHead, NoteNode } from './Notes';
import { SubgraphCard } from './SubgraphCard';
import { LEAST_ZOOM, MOST_ZOOM, useCanvasPort } from './useCanvasPort';
import { useFarWatch } from './useFar';
import { useKeptFocus } from './useKeptFocus';
import { useChanges } from './useChanges';
import { useConnecting, type CanvasMenu } from './useConnecting';
import { useGestures } from './useGestures';
import { useDragging } from './useDragging';
import { useDropping } from './useDropping';
import { t } from '../core/language';
import './Canvas.css';

const nodeTypes = {
  operator: NodeCard,
  note: NoteNode,
  frame: GroupFrame,
  title: GroupHead,
  subgraph: SubgraphCard,
};
const edgeTypes = { link: LinkEdge };
// React Flow draws all nodes again for each property that is another object.
const HAND_KEY = 'Space';
const SEVERAL_KEYS = ['Shift', 'Meta', 'Control'];
const NO_ATTRIBUTION = { hideAttribution: true };
/** With fewer nodes all stay mounted: panning then moves one layer and nothing else. */
const VISIBLE_ONLY_FROM = 60;
/** The same for nodes that are a thumbnail and a name. */
const FAR_VISIBLE_ONLY_FROM = 400;

/** The minimap, where some of the graph is out of sight: in a corner without nodes, while there is one. */
const Overview = memo(function Overview() {
  const editor = useEditor();
  const taken = useValue(editor.view, (view) => view.taken);
  const moving = useValue(editor.view, (view) => view.moving);
  const held = useRef<Corner | null>(null);
  const corner = useStore(({ transform: [x, y, zoom], width, height, nodeLookup }) => {
    if (moving) return held.current;
    const boxes = [...nodeLookup.values()].map(({ internals, measured }) => ({
      x: internals.positionAbsolute.x * zoom + x,
      y: internals.positionAbsolute.y * zoom + y,
      width: (measured.width ?? 0) * zoom,
      height: (measured.height ?? 0) * zoom,
    }));
    return overviewCorner(boxes, { width, height }, taken);
  });
  useEffect(() => {
    held.current = corner;
  }, [corner]);
  if (corner === null) return null;
  return (
    <MiniMap
      pannable
      zoomable
      ariaLabel={t('Overview')}
      nodeStrokeWidth={0}
      maskStrokeColor="var(--accent)"
      maskStrokeWidth={1.5}
      position={corner}
      style={OVERVIEW_SIZE}
    />
  );
});

export function Canvas() {
  const editor = useEditor();
  const panels = usePanels();
  const readOnly = useValue(editor.session, (session) => session.readOnly);
  const far = useValue(editor.view, (view) => view.far);
  const hand = useKeyPress(HAND_KEY);
  const flow = useReactFlow<FlowNode, LinkEdgeType>();
  const frame = useRef<HTMLDivElement>(null);
  useFarWatch(frame);
  const pointer = useRef<Point | null>(null);
  const [dropLink, setDropLink] = useState<string | null>(null);
  const [menu, setMenu] = useState<CanvasMenu | null>(null);

  const sizeOf = useCallback(
    (id: string) => {
      const measured = flow.getInternalNode(flowName(id))?.measured;
      return { width: measured?.width ?? NODE_SIZE.width, height: measured?.height ?? NODE_SIZE.height };
    },
    [flow],
  );

  // Most edits are of arguments: nothing is drawn again but the cards that they change.
  const [nodes, setNodes] = useState<FlowNode[]>([]);
  const [edges, setEdges] = useState<LinkEdgeType[]>([]);
  useEffect(() => {
    const look = (): void => {
      const [document, selection] = [editor.document.get(), editor.selection.get()];
      const catalogue = editor.catalogue.get();
      setNodes((before) => flowNodes(document, selection, before, sizeOf));
      setEdges((before) => (catalogue ? flowEdges({ document, catalogue }, selection, before) : []));
    };
    look();
    const ends = [editor.document, editor.selection, editor.catalogue].map((each) => each.subscribe(look));
    return () => ends.forEach((end) => end());
  }, [editor, sizeOf]);
  const shownEdges = useMemo(
    () =>
      dropLink === null
        ? edges
        : edges.map((edge) => (edge.id === dropLink ? { ...edge, className: 'drop-target' } : edge)),
    [edges, dropLink],
  );

  const placements = useValue(editor.document, ({ nodes: all }) =>
    Object.values(all).some(({ device }) => (device ?? 'cpu') !== 'cpu'),
  );
  const { touched, take, moved } = useCanvasPort(frame, pointer, sizeOf);
  useKeptFocus(frame);

  // A document that was opened is shown whole, once its nodes have been measured and have their pictures.
  const opened = useValue(editor.opening.count);
  const initialized = useNodesInitialized();
  const fitted = useRef(0);
  useEffect(() => {
    if (!initialized || fitted.current === opened || nodes.length === 0) return;
    const show = (): void => {
      fitted.current = opened;
      if (!touched.current) editor.canvas?.fit();
      editor.opening.shown();
    };
    const timer = setTimeout(show, 0);
    return () => clearTimeout(timer);
  }, [editor, initialized, opened, nodes.length, touched]);

  const { onNodesChange, onEdgesChange } = useChanges(setNodes, sizeOf);
  const putBack = useCallback(
    () => setNodes((before) => flowNodes(editor.history.document, editor.selection.get(), before, sizeOf)),
    [editor, sizeOf],
  );
  const dragging = useDragging(frame, setDropLink, putBack);
  const { onDragOver, onDrop } = useDropping(frame, setDropLink);

  const { isValidConnection, endConnection } = useConnecting(frame, setMenu);

  const { chooseOne, ...handlers } = useGestures({ frame, readOnly, setMenu, endConnection, take, moved });

  return (
    <div
      ref={frame}
      className="canvas"
      tabIndex={0}
      data-placements={placements}
      data-hand={hand}
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
        {...dragging}
        isValidConnection={isValidConnection}
        {...handlers}
        connectionLineComponent={ConnectionLine}
        connectionRadius={24}
        connectOnClick={false}
        elevateNodesOnSelect
        nodesConnectable={!readOnly}
        edgesReconnectable={!readOnly}
        reconnectRadius={12}
        deleteKeyCode={null}
        selectionKeyCode="Shift"
        multiSelectionKeyCode={SEVERAL_KEYS}
        selectionMode={SelectionMode.Partial}
        panActivationKeyCode={HAND_KEY}
        disableKeyboardA11y
        zoomOnDoubleClick={false}
        minZoom={LEAST_ZOOM}
        maxZoom={MOST_ZOOM}
        snapToGrid={false}
        onlyRenderVisibleElements={nodes.length >= (far ? FAR_VISIBLE_ONLY_FROM : VISIBLE_ONLY_FROM)}
        proOptions={NO_ATTRIBUTION}
      >
        <Background variant={BackgroundVariant.Dots} gap={24} size={1.25} />
        {panels.minimap && <Overview />}
        <People />
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
