/** Groups: made, opened, shown as one node, taken apart. */
import type { Editor } from '../editor';
import * as edits from '../edits';
import { t } from '../language';
import { groupKey } from '../subgraphs';

export function groupSelection(editor: Editor): void {
  const ids = [...editor.selection.get().nodes];
  if (ids.length === 0) return;
  if (!editor.edit(t('Group'), (document) => edits.addGroup(document, ids, t('Group')))) return;
  const group = editor.history.document.view.groups.at(-1);
  if (!group) return;
  // Later commands act on the group. Its title field opens at once; without an entry it keeps the default title.
  editor.select([], [], group.id);
  editor.prompts.patch({ renaming: groupKey(group.id) });
}

/** Shows a group as one node, or opens it again. */
export function toggleGroup(editor: Editor, id: string): void {
  const group = editor.history.document.view.groups.find((each) => each.id === id);
  if (!group) return;
  const collapsed = !group.collapsed;
  editor.edit(collapsed ? t('Show group as one node') : t('Open group'), (document) =>
    edits.setGroup(document, id, { collapsed }),
  );
  editor.select([], [], id);
}

export function ungroupSelection(editor: Editor): void {
  const { nodes, item } = editor.selection.get();
  editor.edit(t('Ungroup'), (document) =>
    document.view.groups
      .filter((group) => group.id === item || group.nodes.some((id) => nodes.has(id)))
      .reduce((result, group) => edits.setGroup(result, group.id, null), document),
  );
}
