/** Operators and gallery entries from the palette, and files, that are dropped on the canvas. */
import { useReactFlow } from '@xyflow/react';
import { useCallback, type DragEvent, type RefObject } from 'react';
import { addOperator, fitsLink } from '../core/actions';
import { targetKey } from '../core/document';
import { NODE_SIZE } from '../core/layout';
import { useEditor } from './context';
import { clientPoint, linkAt } from './hits';
import { openFile } from './openFile';
import { insertRecipe, RECIPE_TYPE } from './Recipes';

export const OPERATOR_TYPE = 'application/x-dali-lab-operator';
const DROPPED: readonly string[] = [OPERATOR_TYPE, RECIPE_TYPE, 'Files'];

export function useDropping(frame: RefObject<HTMLDivElement>, setDropLink: (key: string | null) => void) {
  const editor = useEditor();
  const flow = useReactFlow();
  const onDragOver = useCallback(
    (event: DragEvent) => {
      if (!event.dataTransfer.types.some((type) => DROPPED.includes(type))) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      const link = linkAt(frame.current, clientPoint(event), editor.history.document);
      setDropLink(link ? targetKey(link.target) : null);
    },
    [editor, frame, setDropLink],
  );

  const onDrop = useCallback(
    (event: DragEvent) => {
      event.preventDefault();
      setDropLink(null);
      const file = event.dataTransfer.files[0];
      if (file) {
        void openFile(editor, file);
        return;
      }
      const op = event.dataTransfer.getData(OPERATOR_TYPE);
      const recipe = event.dataTransfer.getData(RECIPE_TYPE);
      if (!op && !recipe) return;
      const client = clientPoint(event);
      const place = flow.screenToFlowPosition(client);
      const at = { x: place.x - NODE_SIZE.width / 2, y: place.y - 20 };
      const link = linkAt(frame.current, client, editor.history.document);
      if (recipe) insertRecipe(editor, recipe, { at, into: link });
      else addOperator(editor, op, { at, ...(link && fitsLink(editor, op, link) ? { into: link } : {}) });
      frame.current?.focus();
    },
    [editor, flow, frame, setDropLink],
  );

  return { onDragOver, onDrop };
}
