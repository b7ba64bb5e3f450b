/** The canvas's services for the editor: fits, zooms, locates the pointer, brings nodes into view. */
import { getNodesBounds, getViewportForBounds, useReactFlow, type Viewport } from '@xyflow/react';
import { useCallback, useEffect, useRef, type MutableRefObject, type RefObject } from 'react';
import { around } from '../core/apart';
import type { GraphDocument } from '../core/document';
import type { Point } from '../core/edits';
import { flowName, graphName } from '../core/flowNames';
import { placeOf, type Box, type Size } from '../core/layout';
import { intoView, Motion, zoomed } from '../core/motion';
import { useEditor } from './context';
import { flowNodes, type FlowNode } from './flow';
import type { LinkEdgeType } from './LinkEdge';

export const LEAST_ZOOM = 0.05;
export const MOST_ZOOM = 2.5;
/** A small graph is shown larger than life: its pictures take the room there is. */
const FIT_ZOOM = 1.25;
/** Pixels of the screen between the graph and the edge of the canvas. */
const MARGIN = 16;
/** Parts of the editor that the keyboard is given to one after the other. */
const PANELS = '.toolbar, .palette, .canvas, .tray-frame, .inspector';
const FOCUSABLE = 'input, select, textarea, button:not(:disabled), [tabindex="0"]:not(.tray-handle)';
/** A new node makes a graph that is shown whole smaller by this factor at most. */
const LEAST_SHRINK = 0.75;
const MOVE_MS = 120;
const ZOOM_MS = 80;
/** A view that a hand has moved is at rest when it has not moved for so long. */
const REST_MS = 150;

export interface CanvasView {
  /** The person has moved the view since the document was opened. */
  touched: MutableRefObject<boolean>;
  /** The person moves the view: it does not move by itself any more. */
  take: () => void;
  /** The person has moved the view a little, or zoomed it. */
  moved: () => void;
}

/** Gives the editor its port. */
export function useCanvasPort(
  frame: RefObject<HTMLDivElement | null>,
  pointer: RefObject<Point | null>,
  sizeOf: (id: string) => Size,
): CanvasView {
  const editor = useEditor();
  const flow = useReactFlow<FlowNode, LinkEdgeType>();
  const touched = useRef(false);
  const moving = useRef<Motion | null>(null);
  /** The zoom when the move began. */
  const from = useRef(1);
  /** Counts the moves, by hand and by commands. */
  const moves = useRef(0);
  /** The places of the nodes when the view was made to show them all; null when it shows something else. */
  const whole = useRef<GraphDocument['view'] | null>(null);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const mark = (on: boolean): void => {
      moves.current++;
      editor.view.patch({ moving: on });
    };
    const size = (): Size => ({ width: element.clientWidth, height: element.clientHeight });
    const motion = new Motion({
      size,
      view: () => flow.getViewport(),
      look: (view) => void flow.setViewport(view),
      moving: mark,
      frame: (step) => requestAnimationFrame(step),
      cancel: (step) => cancelAnimationFrame(step),
    });
    moving.current = motion;
    const unmark = editor.view.watch('moving', (on) => {
      element.toggleAttribute('data-moving', on);
      element.removeAttribute('data-zooming');
      from.current = flow.getZoom();
    });
    const boundsOf = (ids?: readonly string[]): Box | null => {
      // As the document is now: the canvas may not have drawn it yet.
      const all = flowNodes(editor.history.document, editor.selection.get(), flow.getNodes(), sizeOf);
      const shown = ids ? all.filter(({ id }) => ids.includes(graphName(id))) : all;
      return shown.length > 0 ? getNodesBounds(shown) : null;
    };
    const viewOf = (bounds: Box, { width, height }: Size, most: number): Viewport =>
      getViewportForBounds(bounds, width, height, LEAST_ZOOM, most, `${MARGIN}px`);
    const show = (ids: readonly string[] | undefined, duration: number): void =>
      motion.to((size) => {
        const bounds = boundsOf(ids);
        return bounds && viewOf(bounds, size, ids ? 1 : FIT_ZOOM);
      }, duration);
    let before = size();
    const watch = new ResizeObserver(() => {
      const [all, view, now] = [boundsOf(), flow.getViewport(), size()];
      motion.resized();
      // A graph that was seen whole stays so, as panels beside it open and close.
      const cut = all && !intoView(all, before, view, 0) && intoView(all, now, view, 0);
      if (cut) whole.current = editor.history.document.view;
      if (cut || (whole.current && whole.current === editor.history.document.view)) show(undefined, 0);
      before = now;
    });
    watch.observe(element);
    editor.canvas = {
      fit: (ids) => {
        whole.current = ids ? null : editor.history.document.view;
        editor.view.patch({ taken: false });
        show(ids, MOVE_MS);
      },
      show: (ids) => {
        editor.view.patch({ taken: false });
        motion.to((size, from) => {
          // A graph that was shown whole stays so, unless it would become much smaller.
          const all = whole.current && boundsOf();
          if (all && !intoView(all, size, from, 0)) whole.current = editor.history.document.view;
          else if (all) {
            const view = viewOf(all, size, FIT_ZOOM);
            if (view.zoom >= from.zoom * LEAST_SHRINK) {
              whole.current = editor.history.document.view;
              return view;
            }
            whole.current = null;
          }
          const boxes = ids.map((id) => ({ ...placeOf(editor.history.document, id), ...sizeOf(id) }));
          return intoView(around(boxes), size, from, MARGIN);
        }, MOVE_MS);
      },
      grown: () => {
        const shown = whole.current === editor.history.document.view;
        editor.makeWay();
        // Nothing moves below a pressed button.
        if (!shown || element.matches(':active')) return;
        const all = boundsOf();
        if (!all || !intoView(all, size(), flow.getViewport(), MARGIN / 2)) return;
        whole.current = editor.history.document.view;
        show(undefined, MOVE_MS);
      },
      room: () =>
        element.clientWidth > 2 * MARGIN && element.clientHeight > 2 * MARGIN
          ? { width: element.clientWidth - 2 * MARGIN, height: element.clientHeight - 2 * MARGIN }
          : null,
      zoom: (factor) => {
        whole.current = null;
        editor.view.patch({ taken: true });
        motion.to((size, from) => zoomed(from, factor, size, LEAST_ZOOM, MOST_ZOOM), ZOOM_MS);
      },
      centre: () => {
        const box = frame.current?.getBoundingClientRect();
        return box
          ? flow.screenToFlowPosition({ x: box.x + box.width / 2, y: box.y + box.height / 2 })
          : { x: 0, y: 0 };
      },
      pointer: () => {
        const box = frame.current?.getBoundingClientRect();
        const at = pointer.current ?? {
          x: (box?.x ?? 0) + (box?.width ?? 0) / 2,
          y: (box?.y ?? 0) + (box?.height ?? 0) / 3,
        };
        return { place: flow.screenToFlowPosition(at), at, over: pointer.current !== null };
      },
      sizeOf,
      focusNode: (id) => {
        whole.current = null;
        editor.view.patch({ taken: false });
        const place = placeOf(editor.history.document, id);
        const size = sizeOf(id);
        motion.to(({ width, height }, from) => {
          const zoom = Math.max(0.8, Math.min(1, from.zoom));
          return {
            x: width / 2 - (place.x + size.width / 2) * zoom,
            y: height / 2 - (place.y + size.height / 2) * zoom,
            zoom,
          };
        }, MOVE_MS);
      },
      reveal: (id) => {
        const element = frame.current?.querySelector<HTMLElement>(
          `.react-flow__node[data-id="${flowName(id)}"]`,
        );
        const view = frame.current?.getBoundingClientRect();
        const box = element?.getBoundingClientRect();
        const inside =
          box &&
          view &&
          box.left >= view.left &&
          box.right <= view.right &&
          box.top >= view.top &&
          box.bottom <= view.bottom;
        if (!inside) editor.canvas?.focusNode(id);
        element?.focus({ preventScroll: true });
      },
      focus: () => frame.current?.focus(),
      walkPanels: (step) => {
        const root = frame.current?.closest('.editor');
        const panels = [...(root?.querySelectorAll<HTMLElement>(PANELS) ?? [])];
        const active = (frame.current?.getRootNode() as ShadowRoot | undefined)?.activeElement;
        const at = panels.findIndex((panel) => panel.contains(active ?? null));
        const next =
          panels[(Math.max(at, at < 0 && step < 0 ? 0 : -1) + step + panels.length) % panels.length];
        const within = [...(next?.querySelectorAll<HTMLElement>(FOCUSABLE) ?? [])];
        (next === frame.current ? next : within.find(({ tabIndex }) => tabIndex >= 0))?.focus();
      },
      release: () => {
        touched.current = false;
      },
    };
    return () => {
      watch.disconnect();
      motion.stop();
      mark(false);
      unmark();
      moving.current = null;
      editor.canvas = null;
    };
  }, [editor, flow, frame, pointer, sizeOf]);

  const take = useCallback(() => {
    touched.current = true;
    whole.current = null;
    editor.view.patch({ taken: true });
    moving.current?.stop();
  }, [editor]);
  const moved = useCallback(() => {
    const move = ++moves.current;
    editor.view.patch({ moving: true });
    if (flow.getZoom() !== from.current) frame.current?.setAttribute('data-zooming', '');
    const rest = (): void => {
      if (move === moves.current) editor.view.patch({ moving: false });
    };
    // Moves that wait for a busy page come before its next frame.
    setTimeout(() => requestAnimationFrame(rest), REST_MS);
  }, [editor, flow, frame]);
  return { touched, take, moved };
}
