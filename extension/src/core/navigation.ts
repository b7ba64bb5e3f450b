/** Getting around by keyboard: from node to node, to the next problem, nudging what is selected. */
import * as edits from './edits';
import { links } from './document';
import type { Editor } from './editor';
import { placeOf } from './layout';
import { hiddenNodes } from './subgraphs';
import { t } from './language';

export function nudge(x: number, y: number): (editor: Editor) => void {
  return (editor) => {
    const ids = [...editor.selection.get().nodes];
    const document = editor.history.document;
    const moved = Object.fromEntries(
      ids.map((id) => {
        const place = placeOf(document, id);
        return [id, { x: place.x + x, y: place.y + y }];
      }),
    );
    editor.edit(t('Move'), (start) => edits.moveNodes(start, moved), `nudge:${ids.join()}`);
  };
}

/**
 * Selects a node and brings it into view; a group that is shown as one node is opened, as a step that can be undone. In
 * a graph that is read-only the group is shown instead.
 */
export function goTo(editor: Editor, id: string): void {
  const hiding = hiddenNodes(editor.history.document).get(id);
  if (hiding !== undefined && editor.readOnly) {
    editor.select([], [], hiding);
    editor.canvas?.focusNode(id);
    return;
  }
  if (hiding !== undefined) {
    editor.edit(t('Open group'), (document) => edits.setGroup(document, hiding, { collapsed: false }));
  }
  editor.select([id]);
  editor.canvas?.focusNode(id);
}

/** Walks from node to node: along links across, to the nearest up and down. */
export function walk(direction: 'left' | 'right' | 'up' | 'down'): (editor: Editor) => void {
  return (editor) => {
    const document = editor.history.document;
    const hidden = hiddenNodes(document);
    const ids = Object.keys(document.nodes).filter((id) => !hidden.has(id));
    const from = editor.focusNode ?? null;
    let next: string | undefined;
    if (from === null) next = ids[0];
    else if (direction === 'left') {
      next = links(document).find(({ source, target }) => target.node === from && !hidden.has(source.node))
        ?.source.node;
    } else if (direction === 'right') {
      next = links(document).find(({ source, target }) => source.node === from && !hidden.has(target.node))
        ?.target.node;
    }
    if (next === undefined && from !== null) {
      const here = placeOf(document, from);
      const across = direction === 'left' || direction === 'right';
      const forward = direction === 'right' || direction === 'down' ? 1 : -1;
      let best = Infinity;
      for (const id of ids) {
        const there = placeOf(document, id);
        const [dx, dy] = [there.x - here.x, there.y - here.y];
        const along = (across ? dx : dy) * forward;
        if (id === from || along <= 0) continue;
        const distance = along + 3 * Math.abs(across ? dy : dx);
        if (distance < best) [best, next] = [distance, id];
      }
    }
    if (next === undefined) return;
    editor.select([next]);
    editor.canvas?.reveal(next);
  };
}

/** Goes to the next problem: its node in view, selected; one that is at no node is said. */
export function nextProblem(editor: Editor): void {
  const problems = editor.problems.get().filter(({ severity }) => severity !== 'info');
  const nodes = [
    ...problems.flatMap(({ node }) => (node ? [node] : [])),
    ...[...editor.previews.nodes].filter((id) => editor.previews.result(id)?.error),
  ].filter((id, index, all) => editor.history.document.nodes[id] && all.indexOf(id) === index);
  if (nodes.length === 0) {
    editor.notify(problems[0] ? 'warning' : 'info', problems[0]?.message ?? t('There are no problems.'));
    return;
  }
  const next = nodes[(nodes.indexOf(editor.focusNode ?? '') + 1) % nodes.length] as string;
  goTo(editor, next);
}
