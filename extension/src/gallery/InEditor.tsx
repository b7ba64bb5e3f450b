/** The gallery over the editor, on the editor's session. */
import { useEffect, useMemo } from 'react';
import { useEditor, useValue } from '../canvas/context';
import { Gallery } from './Gallery';
import { modelOf } from '../entries/modelOf';

export function GalleryInEditor() {
  const editor = useEditor();
  const connected = useValue(editor.connection.state, ({ status }) => status === 'connected');
  const model = useMemo(() => modelOf(editor), [editor]);
  useEffect(() => {
    if (connected && model.problem.get() !== null) void model.load();
  }, [connected, model]);
  return <Gallery model={model} />;
}
