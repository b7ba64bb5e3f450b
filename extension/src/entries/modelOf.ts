/** One gallery for an editor, so that coming back finds it as it was left. */
import type { Editor } from '../core/editor';
import { editorHost } from './editorHost';
import { GalleryModel } from './model';

const models = new WeakMap<Editor, GalleryModel>();

export function modelOf(editor: Editor): GalleryModel {
  let model = models.get(editor);
  if (!model) {
    model = new GalleryModel(editorHost(editor));
    models.set(editor, model);
  }
  return model;
}
