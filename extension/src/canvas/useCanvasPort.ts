/** What the canvas does for the editor: fits, zooms, says where the pointer is, brings nodes into view. */
import { useReactFlow } from '@xyflow/react';
import { useEffect, useRef, type MutableRefObject, type RefObject } from 'react';
import type { Point } from '../core/commands';
import { placeOf, type Size } from '../core/layout';
import { useEditor } from './context';
import type { FlowNode } from './flow';
import type { LinkEdgeType } from './LinkEdge';

/** Gives the editor its port; the answer says whether the person has moved the view since the document was opened. */
export function useCanvasPort(
  frame: RefObject<HTMLDivElement | null>,
  pointer: RefObject<Point | null>,
  sizeOf: (id: string) => Size,
): MutableRefObject<boolean> {
  const editor = useEditor();
  const flow = useReactFlow<FlowNode, LinkEdgeType>();
  const touched = useRef(false);
  useEffect(() => {
    editor.canvas = {
      fit: (ids) => {
        // A canvas that is hidden has no size, and nothing fits into that.
        if (!frame.current?.clientWidth || !frame.current.clientHeight) return;
        void flow.fitView({
          padding: 0.06,
          maxZoom: 1,
          duration: 120,
          ...(ids ? { nodes: ids.map((id) => ({ id })) } : {}),
        });
      },
      zoom: (factor) => void flow.zoomTo(flow.getZoom() * factor, { duration: 80 }),
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
        return { place: flow.screenToFlowPosition(at), at };
      },
      sizeOf,
      focusNode: (id) => {
        const place = placeOf(editor.history.document, id);
        const size = sizeOf(id);
        void flow.setCenter(place.x + size.width / 2, place.y + size.height / 2, {
          zoom: Math.max(0.8, Math.min(1, flow.getZoom())),
          duration: 120,
        });
      },
      reveal: (id) => {
        const element = frame.current?.querySelector<HTMLElement>(
          `.react-flow__node[data-id="${CSS.escape(id)}"]`,
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
      release: () => {
        touched.current = false;
      },
    };
    return () => {
      editor.canvas = null;
    };
  }, [editor, flow, frame, pointer, sizeOf]);

  return touched;
}
