/** Sizes of nodes on the canvas, and the boxes that they occupy. */
import type { Editor } from '../editor';
import { NODE_SIZE, placeOf, type Box, type Size } from '../layout';

/** The size of each node as it is drawn, or as it will be about. */
export const sizesOf =
  (editor: Editor) =>
  (id: string): Size =>
    editor.canvas?.sizeOf(id) ?? NODE_SIZE;

/** The room that each node takes. */
export function boxOf(editor: Editor, id: string): Box {
  return { ...placeOf(editor.history.document, id), ...sizesOf(editor)(id) };
}

export function boxes(editor: Editor): Box[] {
  return Object.keys(editor.history.document.nodes).map((id) => boxOf(editor, id));
}
