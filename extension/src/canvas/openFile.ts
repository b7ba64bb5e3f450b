/** Opens a file of this computer, which was dropped or chosen: a graph, a program, or a report with a graph inside. */
import type { Editor } from '../core/editor';
import { open } from '../core/files';
import { t } from '../core/language';
import { textOf } from './reportPicture';

export async function openFile(editor: Editor, file: File, run?: number): Promise<boolean> {
  let text: string;
  try {
    text = await textOf(file);
    if (/[\0\ufffd]/.test(text.slice(0, 10_000))) throw new Error(t('It is neither a graph nor a program.'));
  } catch (error) {
    const pictures = t('Pictures, sounds and videos come from a folder: choose it at a reader.');
    const reason = (error as Error).name === 'Error' ? (error as Error).message : t('It is no file.');
    editor.notify('error', t('%1 could not be opened: %2 %3', file.name, reason, pictures));
    return false;
  }
  return open(editor, { text, name: file.name.replace(/\.(png|html)$/i, '.dali.json') }, run);
}
