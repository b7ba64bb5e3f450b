/** Zoom levels of nodes: their text grows as they shrink, until only a thumbnail and a name are shown. */
import { useStoreApi } from '@xyflow/react';
import { useEffect, type RefObject } from 'react';
import { useEditor } from './context';

const FAR_ZOOM = 0.55;
/** Text grows in steps: a card is not laid out anew at each moment of a zoom. */
const STEP = 0.05;
/** The zoom by which cards make their text legible, from `--zoom`: the present one, rounded down, and at most 1. */
function legibleZoom(zoom: number): number {
  return Math.max(STEP, Math.min(1, Math.floor(zoom / STEP + 1e-6) * STEP));
}

export function useFarWatch(frame: RefObject<HTMLElement | null>): void {
  const editor = useEditor();
  const store = useStoreApi();
  useEffect(() => {
    let step = 0;
    const look = (): void => {
      const zoom = store.getState().transform[2];
      const { moving } = editor.view.get();
      const far = zoom < FAR_ZOOM;
      const next = legibleZoom(zoom);
      // All cards are laid out anew: once, when the view is at rest.
      if (next !== step && !moving) {
        frame.current?.style.setProperty('--zoom', next.toFixed(2));
        step = next;
      }
      // Cards get their controls at rest, too: a hundred at once would stop the motion.
      if (far || !moving) editor.view.patch({ far });
    };
    look();
    const stops = [store.subscribe(look), editor.view.watch('moving', look)];
    return () => {
      for (const stop of stops) stop();
    };
  }, [editor, store, frame]);
}
