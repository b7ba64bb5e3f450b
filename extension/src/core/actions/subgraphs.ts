/** Sub-graphs: made of nodes, opened and closed, named, and their arguments offered. */
import {
  definitionName,
  definitionNameProblem,
  offer,
  removeDefinition,
  renameDefinition,
} from '../definitions';
import { freeName, links, targetKey, type Group } from '../document';
import type { Editor } from '../editor';
import * as edits from '../edits';
import { t } from '../language';
import { closeSubgraph, makeSubgraph, openSubgraph, subgraphProblem } from '../openDefinitions';

/** The nodes that a command about groups is about: the selected ones, the members of the selected group, or a link's two ends. */
function chosenNodes(editor: Editor): { ids: string[]; group: Group | undefined } {
  const { nodes, links: chosen, item } = editor.selection.get();
  const document = editor.history.document;
  if (nodes.size > 0) return { ids: [...nodes], group: undefined };
  const group = document.view.groups.find(({ id }) => id === item);
  if (group) return { ids: group.nodes, group };
  const ends = links(document)
    .filter(({ target }) => chosen.has(targetKey(target)))
    .flatMap(({ source, target }) => [source.node, target.node]);
  return { ids: [...new Set(ends)], group: undefined };
}

/** Makes one node of the selected nodes or group: a sub-graph, which can be used again. */
export function makeSubgraphOfSelection(editor: Editor): void {
  const catalogue = editor.catalogue.get();
  const { ids, group } = chosenNodes(editor);
  const document = editor.history.document;
  if (!catalogue || ids.length === 0) return;
  if (group?.subgraph) {
    closeGroup(editor, group.id);
    return;
  }
  const problem = subgraphProblem(document, ids);
  if (problem !== null) {
    editor.notify('warning', problem);
    return;
  }
  const title =
    group?.title
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, '_') ?? '';
  const wanted = definitionNameProblem({ ...document, subgraphs: {} }, title) === null ? title : 'augment';
  const name = freeName({ ...document.subgraphs }, wanted === 'group' ? 'augment' : wanted);
  let made = '';
  const done = editor.edit(t('Make sub-graph %1', name), (start) => {
    const result = makeSubgraph(start, catalogue, ids, name);
    made = result.id;
    return group ? edits.setGroup(result.document, group.id, null) : result.document;
  });
  if (done) editor.select([made]);
}

/** Opens a sub-graph in place: its nodes stand in a group, until that is closed. */
export function openNode(editor: Editor, id: string): void {
  const document = editor.history.document;
  const name = definitionName(document.nodes[id]?.op);
  if (name === null) return;
  const open = document.view.groups.find(({ subgraph }) => subgraph?.name === name);
  if (open) {
    editor.select([], [], open.id);
    editor.canvas?.show(open.nodes);
    editor.notify('info', t('"%1" is open already, here. Close it first.', name));
    return;
  }
  let group = '';
  const done = editor.edit(t('Open sub-graph %1', name), (start) => {
    const result = openSubgraph(start, id);
    group = result?.group ?? '';
    return result?.document ?? start;
  });
  if (done) editor.select([], [], group);
}

/** Closes a group that stands for a sub-graph: all instances follow what is in it now. */
export function closeGroup(editor: Editor, id: string): void {
  const catalogue = editor.catalogue.get();
  const group = editor.history.document.view.groups.find((each) => each.id === id);
  if (!catalogue || !group?.subgraph) return;
  const problem = subgraphProblem(editor.history.document, group.nodes);
  if (problem !== null) {
    editor.notify('warning', problem);
    return;
  }
  let made = '';
  const done = editor.edit(t('Close sub-graph %1', group.subgraph.name), (start) => {
    const result = closeSubgraph(start, catalogue, group);
    made = result?.id ?? '';
    return result?.document ?? start;
  });
  if (done) editor.select([made]);
}

/** Opens the selected sub-graph, or closes the one that stands open around the selection; else makes one of several nodes or a link's ends. */
export function toggleSubgraph(editor: Editor): void {
  const document = editor.history.document;
  const { nodes, item } = editor.selection.get();
  const node = editor.focusNode;
  if (node !== null && definitionName(document.nodes[node]?.op) !== null) {
    openNode(editor, node);
    return;
  }
  const group = document.view.groups.find(
    (each) => each.subgraph && (each.id === item || each.nodes.some((id) => nodes.has(id))),
  );
  if (group) closeGroup(editor, group.id);
  else if (chosenNodes(editor).ids.length > 1) makeSubgraphOfSelection(editor);
}

/** Takes a sub-graph that nothing uses out of the document. */
export function removeSubgraph(editor: Editor, name: string): void {
  const removed = editor.edit(
    t('Remove sub-graph %1', name),
    (document) => removeDefinition(document, name) ?? document,
  );
  if (!removed && !editor.readOnly) editor.notify('info', t('"%1" is in use: it stays.', name));
}

export function renameSubgraph(editor: Editor, name: string, wanted: string): boolean {
  if (wanted.trim() === name) return true;
  const problem = definitionNameProblem(editor.history.document, wanted.trim(), name);
  if (problem !== null) {
    editor.notify('warning', problem);
    return false;
  }
  return editor.edit(t('Rename sub-graph %1 to %2', name, wanted.trim()), (document) =>
    renameDefinition(document, name, wanted.trim()),
  );
}

export function offerArgument(
  editor: Editor,
  name: string,
  node: string,
  argument: string,
  offered: boolean,
): void {
  const label = offered ? t('Offer %1 of %2', argument, node) : t('No longer offer %1 of %2', argument, node);
  editor.edit(label, (document) => offer(document, name, node, argument, offered));
}
