/** Sub-graphs of a document as entries of the gallery. */
import { definitionName } from '../core/definitions';
import type { Editor } from '../core/editor';
import { t } from '../core/language';
import { modelOf } from './modelOf';

/** Saves the sub-graph that a node stands for in the folder `gallery`, from where other graphs can use it. */
export async function saveToGallery(editor: Editor, node: string): Promise<void> {
  const document = editor.history.document;
  const name = definitionName(document.nodes[node]?.op);
  if (name === null) return;
  const words = name.replaceAll('_', ' ');
  const title = words.charAt(0).toUpperCase() + words.slice(1);
  try {
    await editor.connection.call('gallery.save', { document, node, title });
    editor.notify('info', t('"%1" is in the gallery; the search in the palette finds it.', title));
    await modelOf(editor).added(name);
  } catch (error) {
    editor.notify('error', (error as Error).message);
  }
}
