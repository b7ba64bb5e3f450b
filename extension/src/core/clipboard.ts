/** Copy, paste and duplicate. */
import * as commands from './commands';
import type { Point } from './commands';
import type { Editor } from './editor';
import { t } from './language';

let clipboard: commands.Clip | null = null;

/** Copies what is selected; the text is for the clipboard of the system. */
export function copySelection(editor: Editor): string | null {
  const ids = [...editor.selection.get().nodes];
  if (ids.length === 0) return null;
  clipboard = commands.copyNodes(editor.history.document, ids);
  return JSON.stringify(clipboard, null, 1);
}

export function paste(editor: Editor, text: string | null, at?: Point): boolean {
  const clip = (text === null ? null : commands.parseClip(text)) ?? clipboard;
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
  const clip = commands.copyNodes(editor.history.document, [...editor.selection.get().nodes]);
  return Object.keys(clip.nodes).length > 0 && putIn(editor, clip, { x: 32, y: 48 }, t('Duplicate'));
}

function putIn(editor: Editor, clip: commands.Clip, offset: Point, label: string): boolean {
  let ids: string[] = [];
  const done = editor.edit(label, (document) => {
    const result = commands.pasteNodes(document, clip, offset);
    ids = result.ids;
    return result.document;
  });
  if (done) editor.select(ids);
  return done;
}
