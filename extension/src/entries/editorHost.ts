/** The gallery's host where it lies over an editor: opens a graph in it, puts nodes into its graph. */
import {
  emptyDocument,
  formatEdge,
  parseEdge,
  type EdgeRef,
  type GraphDocument,
  type Link,
} from '../core/document';
import type { Point } from '../core/edits';
import type { Editor } from '../core/editor';
import { open } from '../core/files';
import { insertFragment } from './fragment';
import type { GalleryHost } from './model';
import type { EntryPage } from '../core/protocol.generated';
import { t } from '../core/language';

export function editorHost(editor: Editor): GalleryHost {
  const close = (): void => editor.view.patch({ gallery: false });
  return {
    connection: editor.connection,
    open: (document, title) => {
      const text = JSON.stringify({ ...emptyDocument(), ...document });
      void open(editor, { text, name: `${title}.dali.json` }).then((done) => {
        if (done) close();
      });
    },
    insert: (page, document) => {
      if (insertInto(editor, page, document)) close();
    },
    close,
    folder: () => folderOf(editor.history.document),
  };
}

export interface Where {
  /** The upper left corner of its nodes. */
  at: Point;
  /** The link that it goes into; without one it is not connected. */
  into: Link | undefined;
}

/** Puts an entry's augmentation into the graph: where it is dropped, else behind the selected node or the output. */
export function insertInto(editor: Editor, page: EntryPage, source: GraphDocument, where?: Where): boolean {
  const link = where?.into;
  const feed = where ? link && formatEdge(link.source) : feedOf(editor);
  let ids: string[] = [];
  const done = editor.edit(t('Insert %1', page.title), (document) => {
    const after = feed == null ? undefined : document.view.nodes[parseEdge(feed).node];
    const at =
      where?.at ??
      (after ? { x: (after.x ?? 0) + 264, y: after.y ?? 0 } : (editor.canvas?.centre() ?? { x: 0, y: 0 }));
    const result = insertFragment(
      document,
      source,
      fragmentOf(page, source),
      page.before,
      feed ?? null,
      single(page),
      at,
      link,
      editor.sizeOf,
    );
    ids = result.ids;
    return result.document;
  });
  if (!done) return false;
  editor.select(ids);
  editor.notify(
    'info',
    feed == null
      ? t('%1 is in the graph; connect a picture to it.', page.title)
      : t('%1 is behind %2.', page.title, parseEdge(feed).node),
  );
  return true;
}

/** The nodes of an entry's augmentation; a sub-graph among them may stand there as its nodes. */
const fragmentOf = ({ fragment }: EntryPage, { nodes }: GraphDocument): string[] =>
  Object.keys(nodes).filter((id) => fragment.some((name) => id === name || id.startsWith(`${name}/`)));

/** The one picture that an entry gives; null where there are several. */
const single = ({ views, document }: EntryPage): EdgeRef | null =>
  views === 1 ? (document.outputs[0] ?? null) : null;

/** The source of the augmentation's picture: the selected node, the pipeline's output, or a node that feeds these. */
function feedOf(editor: Editor): EdgeRef | null {
  const { nodes, outputs } = editor.history.document;
  const starts = [editor.focusNode, ...outputs.map((edge) => parseEdge(edge).node)];
  for (const start of starts) {
    const seen = new Set<string>();
    // Augmentations take 8-bit pictures with channels last: from a normalised one the links are followed back.
    for (let id = start; id !== null && nodes[id] && !seen.has(id);) {
      seen.add(id);
      if (isPhotograph(editor, id)) return formatEdge({ node: id, output: 0 });
      const input: EdgeRef | null | undefined = nodes[id]?.inputs?.[0];
      id = input == null ? null : parseEdge(input).node;
    }
  }
  return null;
}

/** Whether a node gives 8-bit pictures, channels last: by its preview, and before that by its operator. */
function isPhotograph(editor: Editor, id: string): boolean {
  const known = editor.previews.result(id)?.outputs[0];
  if (known) return known.kind === 'image' && known.dtype === 'UINT8' && known.layout === 'HWC';
  const node = editor.history.document.nodes[id];
  const output = editor.catalogue.get()?.operator(node?.op ?? '')?.outputs[0];
  return output?.kind === 'image' && node?.op !== 'crop_mirror_normalize' && node?.op !== 'normalize';
}

/** The folder that the graph's first reader reads. */
function folderOf({ nodes }: GraphDocument): string | null {
  for (const node of Object.values(nodes)) {
    const root = node.arguments?.['file_root'];
    if (typeof root === 'string' && root !== '') return root;
  }
  return null;
}
