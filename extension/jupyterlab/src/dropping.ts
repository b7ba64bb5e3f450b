/** Folders that are dragged from the file browser onto the canvas: each becomes a reader. */
import { PathExt } from '@jupyterlab/coreutils';
import type { Contents } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Drag } from '@lumino/dragdrop';
import { freeName } from '../../src/core/document';
import type { Handle } from './editor';

const CONTENTS = 'application/x-jupyter-icontents';
export const DRAG_EVENTS = ['lm-dragenter', 'lm-dragover', 'lm-dragleave', 'lm-drop'] as const;

export interface DropTarget {
  handle: Handle | null;
  readOnly: boolean;
  /** Where the document is, for the contents manager. */
  folder: string;
  contents: Contents.IManager;
  trans: TranslationBundle;
}

/** Takes part in a drag; returns whether the dragged item may be dropped here. */
export function onDrag(event: Drag.Event, target: DropTarget): boolean {
  const inside = event.type === 'lm-dragenter' || event.type === 'lm-dragover';
  const paths = event.mimeData.hasData(CONTENTS) ? (event.mimeData.getData(CONTENTS) as string[]) : [];
  const { handle } = target;
  if (paths.length > 0 && handle && !target.readOnly) {
    event.preventDefault();
    event.stopPropagation();
    if (event.type === 'lm-dragover') event.dropAction = event.proposedAction;
    if (event.type === 'lm-drop') {
      event.dropAction = 'copy';
      void drop(paths, handle, target);
    }
  }
  return inside && paths.length > 0;
}

async function drop(
  paths: readonly string[],
  handle: Handle,
  { contents, folder, trans }: DropTarget,
): Promise<void> {
  for (const path of paths) {
    const found = await contents.get(path, { content: false }).catch(() => null);
    const name = PathExt.basename(path);
    if (found?.type === 'directory') {
      const root = PathExt.relative(folder, contents.localPath(path)) || '.';
      addReader(handle, root, trans.__('Add reader of %1', name));
    } else
      handle.editor.notify(
        'warning',
        trans.__('%1 is no folder: drop a folder of pictures to read it.', name),
      );
  }
}

/** Puts a reader of a folder under the pointer. */
function addReader(handle: Handle, folder: string, label: string): void {
  const { editor } = handle;
  const name = freeName(editor.history.document.nodes, 'reader');
  const { place } = editor.canvas?.pointer() ?? { place: { x: 0, y: 0 } };
  const reader = {
    op: 'readers.file',
    device: 'cpu' as const,
    inputs: [],
    arguments: { file_root: folder },
    connections: {},
  };
  const at = { x: Math.round(place.x), y: Math.round(place.y) };
  editor.edit(label, (graph) => ({
    ...graph,
    nodes: { ...graph.nodes, [name]: reader },
    view: { ...graph.view, nodes: { ...graph.view.nodes, [name]: at } },
  }));
  editor.select([name]);
}
