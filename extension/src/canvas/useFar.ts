/** Whether nodes are so small that a thumbnail and a name are all that can be seen of them. */
import { useStoreApi } from '@xyflow/react';
import { useEffect } from 'react';
import { useEditor } from './context';

const FAR_ZOOM = 0.42;
/** Cards get their controls when the view has come to rest: a hundred at once would stop the motion. */
const REST_MS = 140;

export function useFarWatch(): void {
  const editor = useEditor();
  const store = useStoreApi();
  useEffect(() => {
    let rest: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      const far = store.getState().transform[2] < FAR_ZOOM;
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
  }, [editor, store]);
}
