/** Zoom levels of nodes: their text grows as they shrink, until only a thumbnail and a name are shown. */
import { useStoreApi } from '@xyflow/react';
import { useEffect, type RefObject } from 'react';
import { useEditor } from './context';

const FAR_ZOOM = 0.55;
/** Text grows in steps: a card is not laid out anew at each moment of a zoom. */
const STEP = 0.05;
/** Cards get their controls when the view has come to rest: a hundred at once would stop the motion. */
const REST_MS = 140;

/** The zoom by which cards make their text legible, from `--zoom`: the present one, rounded down, and at most 1. */
function legibleZoom(zoom: number): number {
  return Math.max(STEP, Math.min(1, Math.floor(zoom / STEP + 1e-6) * STEP));
}

export function useFarWatch(frame: RefObject<HTMLElement | null>): void {
  const editor = useEditor();
  const store = useStoreApi();
  useEffect(() => {
    let rest: ReturnType<typeof setTimeout> | undefined;
    let step = 0;
    const look = (): void => {
      const zoom = store.getState().transform[2];
      const far = zoom < FAR_ZOOM;
      const next = legibleZoom(zoom);
      if (next !== step) frame.current?.style.setProperty('--zoom', next.toFixed(2));
      step = next;
      if (far === editor.view.get().far) {
        clearTimeout(rest);
        return;
      }
      clearTimeout(rest);
      if (far) editor.view.patch({ far: true });
      else
        rest = setTimeout(() => {
          editor.view.patch({ far: false });
        }, REST_MS);
    };
    look();
    const stop = store.subscribe(look);
    return () => {
      clearTimeout(rest);
      stop();
    };
  }, [editor, store, frame]);
}
