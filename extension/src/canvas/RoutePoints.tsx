/** The points that a link passes through: dragged, moved by arrow keys, removed by a double click or Delete. */
import { EdgeLabelRenderer, useReactFlow } from '@xyflow/react';
import { useRef, type KeyboardEvent, type PointerEvent } from 'react';
import { linkByKey, setRoute } from '../core/actions';
import { GRID } from '../core/layout';
import { useEditor } from './context';
import { t } from '../core/language';

type Route = readonly (readonly [number, number])[];

const STEPS: Record<string, [number, number]> = {
  ArrowLeft: [-GRID, 0],
  ArrowRight: [GRID, 0],
  ArrowUp: [0, -GRID],
  ArrowDown: [0, GRID],
};

export function RoutePoints({ link, route }: { link: string; route: Route }) {
  const editor = useEditor();
  const flow = useReactFlow();
  const drag = useRef<string | null>(null);
  const set = (points: Route, gesture?: string): void => {
    const found = linkByKey(editor.history.document, link);
    if (found)
      setRoute(
        editor,
        found.target,
        points.map(([x, y]) => ({ x, y })),
        gesture,
      );
  };
  const moved = (index: number, to: readonly [number, number]): Route =>
    route.map((point, at) => (at === index ? to : point));
  const remove = (index: number): void => set(route.filter((_, at) => at !== index));
  const onKeyDown = (event: KeyboardEvent, index: number): void => {
    const step = STEPS[event.key];
    const [x, y] = route[index] ?? [0, 0];
    if (step) set(moved(index, [x + step[0], y + step[1]]), `route ${link} ${index}`);
    else if (event.key === 'Delete' || event.key === 'Backspace') remove(index);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onPointerMove = (event: PointerEvent, index: number): void => {
    if (drag.current === null) return;
    const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    set(moved(index, [x, y]), drag.current);
  };
  return (
    <EdgeLabelRenderer>
      {route.map(([x, y], index) => (
        <button
          key={index}
          type="button"
          className="route-point nodrag nopan"
          aria-label={t('Point %1 of the link; arrow keys move it, Delete removes it', index + 1)}
          data-testid="route-point"
          style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}
          onPointerDown={(event) => {
            event.stopPropagation();
            event.currentTarget.setPointerCapture(event.pointerId);
            drag.current = `route ${link} ${index} ${event.timeStamp}`;
          }}
          onPointerMove={(event) => onPointerMove(event, index)}
          onPointerUp={() => {
            drag.current = null;
          }}
          onDoubleClick={(event) => {
            event.stopPropagation();
            remove(index);
          }}
          onKeyDown={(event) => onKeyDown(event, index)}
        />
      ))}
    </EdgeLabelRenderer>
  );
}
