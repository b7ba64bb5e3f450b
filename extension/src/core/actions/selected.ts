/** Actions on the selection. */
import { canConnect } from '../connect';
import { links, targetKey } from '../document';
import type { Editor } from '../editor';
import * as edits from '../edits';
import { t, tn } from '../language';
import { align, autoLayout, placeOf, type Alignment } from '../layout';
import { toggleGroup } from './groups';

/** Removes the selection; links through removed nodes stay where possible. */
export function removeSelection(editor: Editor): void {
  const { nodes, links: chosen, item } = editor.selection.get();
  const facts = editor.facts;
  if (nodes.size === 0 && chosen.size === 0 && item === null) return;
  // A collapsed group is removed with its members; a frame is removed alone.
  const inside = editor.history.document.view.groups.find(({ id, collapsed }) => id === item && collapsed);
  const ids = [...nodes, ...(inside?.nodes ?? [])];
  const label =
    ids.length === 1
      ? t('Delete %1', ids[0])
      : ids.length > 1
        ? t('Delete %1 nodes', ids.length)
        : t('Delete');
  editor.edit(label, (document) => {
    const gone = new Set(ids);
    // A link of a node that goes is what a wire through it is made of.
    const targets = links(document).filter(
      ({ source, target }) =>
        chosen.has(targetKey(target)) && !gone.has(source.node) && !gone.has(target.node),
    );
    let next = targets.reduce((result, { target }) => edits.disconnect(result, target), document);
    const start = next;
    next = edits.removeNodes(next, ids, (source, target) => {
      if (target === null || !facts) return true;
      return canConnect({ ...facts, document: start }, source, target).ok;
    });
    if (item !== null) {
      next = edits.setNote(next, item, null);
      next = edits.setGroup(next, item, null);
    }
    return next;
  });
  editor.select([]);
}

export function toggleView(
  editor: Editor,
  key: 'bypass' | 'disabled' | 'collapsed',
  ids = [...editor.selection.get().nodes],
): void {
  const { item } = editor.selection.get();
  if (ids.length === 0 && item !== null && key === 'collapsed') toggleGroup(editor, item);
  if (ids.length === 0) return;
  const document = editor.history.document;
  const on = !ids.every((id) => document.view.nodes[id]?.[key]);
  const what = ids.length === 1 ? ids[0] : tn('%1 node', '%1 nodes', ids.length);
  const words = {
    bypass: [t('Bypass %1', what), t('Use %1 again', what)],
    disabled: [t('Disable %1', what), t('Enable %1', what)],
    collapsed: [t('Collapse %1', what), t('Expand %1', what)],
  }[key];
  editor.edit((on ? words[0] : words[1]) as string, (start) => edits.setView(start, ids, { [key]: on }));
}

export function arrange(editor: Editor): void {
  const document = editor.history.document;
  const selected = [...editor.selection.get().nodes];
  const ids = selected.length > 1 ? selected : Object.keys(document.nodes);
  if (ids.length === 0) return;
  const room = editor.canvas?.room() ?? null;
  const positions = autoLayout(document, editor.sizeOf, ids, room);
  editor.edit(t('Arrange'), (start) => edits.straighten(edits.moveNodes(start, positions), ids));
  if (selected.length <= 1) editor.canvas?.fit();
}

export function alignSelection(editor: Editor, how: Alignment): void {
  const ids = [...editor.selection.get().nodes];
  if (ids.length < 2) return;
  const all = Object.fromEntries(
    ids.map((id) => [id, { ...placeOf(editor.history.document, id), ...editor.sizeOf(id) }]),
  );
  editor.edit(t('Align'), (start) => edits.moveNodes(start, align(all, how)));
}

/** Selects all that feeds a node, or all that it feeds. */
export function selectConnected(editor: Editor, direction: 'before' | 'after'): void {
  const document = editor.history.document;
  const all = links(document);
  const found = new Set(editor.selection.get().nodes);
  for (let grew = true; grew;) {
    grew = false;
    for (const { source, target } of all) {
      const [here, there] = direction === 'before' ? [target.node, source.node] : [source.node, target.node];
      if (found.has(here) && !found.has(there)) {
        found.add(there);
        grew = true;
      }
    }
  }
  editor.select(found);
}
