/** Copy, paste and duplicate. */
import * as edits from './edits';
import type { Point } from './edits';
import type { Editor } from './editor';
import { t } from './language';

let clipboard: edits.Clip | null = null;

/** Copies what is selected; the text is for the clipboard of the system. */
export function copySelection(editor: Editor): string | null {
  const ids = [...editor.selection.get().nodes];
  if (ids.length === 0) return null;
  clipboard = edits.copyNodes(editor.history.document, ids);
  return JSON.stringify(clipboard, null, 1);
}

export function paste(editor: Editor, text: string | null, at?: Point): boolean {
  const clip = (text === null ? null : edits.parseClip(text)) ?? clipboard;
  if (!clip || Object.keys(clip.nodes).length === 0) return false;
  const views = Object.values(clip.view);
  const corner = {
    x: Math.min(...views.map(({ x }) => x ?? 0)),
    y: Math.min(...views.map(({ y }) => y ?? 0)),
  };
  const offset = at ? { x: at.x - corner.x, y: at.y - corner.y } : { x: 40, y: 40 };
  return putIn(editor, clip, offset, t('Paste'));
}

export function duplicateSelection(editor: Editor): boolean {
  const clip = edits.copyNodes(editor.history.document, [...editor.selection.get().nodes]);
  return Object.keys(clip.nodes).length > 0 && putIn(editor, clip, { x: 32, y: 48 }, t('Duplicate'));
}

function putIn(editor: Editor, clip: edits.Clip, offset: Point, label: string): boolean {
  let ids: string[] = [];
  const done = editor.edit(label, (document) => {
    const result = edits.pasteNodes(document, clip, offset);
    ids = result.ids;
    return result.document;
  });
  if (done) editor.select(ids);
  return done;
}
