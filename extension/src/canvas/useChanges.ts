/** React Flow's changes of nodes and links: the editor owns the selection, and takes positions when a drag ends. */
import { applyNodeChanges, type EdgeChange, type NodeChange } from '@xyflow/react';
import { useCallback, type Dispatch, type SetStateAction } from 'react';
import type { Editor } from '../core/editor';
import type { Size } from '../core/layout';
import { useEditor } from './context';
import { graphName } from '../core/flowNames';
import { fitFrames, itemOf, titlesAsFrames, type FlowNode } from './flow';
import type { LinkEdgeType } from './LinkEdge';

/** Cards that grow in one go, as when pictures come, are looked at together. */
const REST_MS = 80;
const timers = new WeakMap<Editor, ReturnType<typeof setTimeout>>();

function wayLater(editor: Editor): void {
  clearTimeout(timers.get(editor));
  timers.set(
    editor,
    setTimeout(() => editor.canvas?.grown(), REST_MS),
  );
}

export function useChanges(setNodes: Dispatch<SetStateAction<FlowNode[]>>, sizeOf: (id: string) => Size) {
  const editor = useEditor();
  const onNodesChange = useCallback(
    (all: NodeChange<FlowNode>[]) => {
      const changes = titlesAsFrames(all);
      const selected = changes.filter((change) => change.type === 'select');
      if (selected.length > 0) {
        const current = editor.selection.get();
        const chosen = new Set(current.nodes);
        let item = current.item;
        for (const { id, selected: on } of selected) {
          if (id.includes(':')) {
            const key = itemOf(id);
            if (on) item = key;
            else if (item === key) item = null;
          } else if (on) chosen.add(graphName(id));
          else chosen.delete(graphName(id));
        }
        const same =
          item === current.item &&
          chosen.size === current.nodes.size &&
          [...chosen].every((id) => current.nodes.has(id));
        if (!same) editor.selection.set({ ...current, nodes: chosen, item });
      }
      const moved = changes.flatMap((change) =>
        change.type === 'position' && change.id.startsWith('group:') && change.position ? [change] : [],
      );
      if (changes.some((change) => change.type === 'dimensions' && !change.id.includes(':')))
        wayLater(editor);
      setNodes((before) => {
        let next = applyNodeChanges(
          changes.filter((change) => change.type !== 'select' && change.type !== 'remove'),
          before,
        );
        // A group takes its members along.
        for (const { id, position } of moved) {
          const old = before.find((node) => node.id === id);
          const group = editor.history.document.view.groups.find((each) => each.id === itemOf(id));
          if (!old || !group || !position) continue;
          const dx = position.x - old.position.x;
          const dy = position.y - old.position.y;
          const carried = changes.flatMap((change) => (change.type === 'position' ? [change.id] : []));
          next = next.map((node) =>
            group.nodes.includes(graphName(node.id)) && !carried.includes(node.id)
              ? { ...node, position: { x: node.position.x + dx, y: node.position.y + dy } }
              : node,
          );
        }
        const grown = changes.some((change) => change.type === 'dimensions' && !change.id.includes(':'));
        return grown ? fitFrames(editor.history.document, next, sizeOf) : next;
      });
    },
    [editor, setNodes, sizeOf],
  );

  const onEdgesChange = useCallback(
    (changes: EdgeChange<LinkEdgeType>[]) => {
      const chosen = new Set(editor.selection.get().links);
      for (const change of changes) {
        if (change.type !== 'select') continue;
        if (change.selected) chosen.add(change.id);
        else chosen.delete(change.id);
      }
      const current = editor.selection.get();
      if (chosen.size !== current.links.size || [...chosen].some((key) => !current.links.has(key))) {
        editor.selection.set({ ...current, links: chosen });
      }
    },
    [editor],
  );

  return { onNodesChange, onEdgesChange };
}
