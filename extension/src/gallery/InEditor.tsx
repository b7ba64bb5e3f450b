/** The gallery over the editor, on the editor's session. */
import { useEffect, useMemo } from 'react';
import { useEditor, useValue } from '../canvas/context';
import type { Editor } from '../core/editor';
import { Gallery } from './Gallery';
import { editorHost } from './editorHost';
import { GalleryModel } from './model';

const models = new WeakMap<Editor, GalleryModel>();

/** One gallery for an editor, so that coming back finds it as it was left. */
function modelOf(editor: Editor): GalleryModel {
  let model = models.get(editor);
  if (!model) {
    model = new GalleryModel(editorHost(editor));
    models.set(editor, model);
  }
  return model;
}

export function GalleryInEditor() {
  const editor = useEditor();
  const connected = useValue(editor.connection.state, ({ status }) => status === 'connected');
  const model = useMemo(() => modelOf(editor), [editor]);
  useEffect(() => {
    if (connected && model.problem.get() !== null) void model.load();
  }, [connected, model]);
  return <Gallery model={model} />;
}
