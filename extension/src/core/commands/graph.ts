/** Commands about nodes, groups and notes. */
import * as actions from '../actions';
import * as edits from '../edits';
import type { Editor } from '../editor';
import { links } from '../document';
import { showPanel } from '../folding';
import { msg, t } from '../language';
import { GRID } from '../layout';
import { nudge } from '../navigation';
import { groupKey } from '../subgraphs';
import { any, filled, selected, several, writable, inSection, type Command } from './command';

/** The key of the selected group, for renaming it. */
function chosenGroup(editor: Editor): string | null {
  const { item } = editor.selection.get();
  const group = editor.history.document.view.groups.find(({ id }) => id === item);
  return group ? groupKey(group.id) : null;
}

function quickSearch(editor: Editor): void {
  const pointer = editor.canvas?.pointer();
  const [after, ...others] = editor.selection.get().nodes;
  if (!pointer) return;
  editor.prompts.patch({
    quick: { ...pointer, ...(after !== undefined && others.length === 0 ? { after } : {}) },
  });
}

/** Whether all that is selected has a mark. */
function marked(mark: 'bypass' | 'disabled' | 'collapsed'): (editor: Editor) => boolean {
  return (editor) => {
    const { nodes, item } = editor.selection.get();
    const { view } = editor.history.document;
    if (nodes.size > 0) return [...nodes].every((id) => view.nodes[id]?.[mark]);
    return mark === 'collapsed' && view.groups.some(({ id, collapsed }) => id === item && collapsed);
  };
}

export const GRAPH = inSection('Graph', [
  {
    id: 'search',
    label: msg('Add operator…'),
    caption: msg('Search and place at the pointer, after the selected node where it fits'),
    keys: ['Tab', 'Mod+Space'],
    enabled: writable,
    run: quickSearch,
  },
  {
    id: 'connect',
    label: msg('Connect…'),
    caption: msg('Choose by name the node that the selected one feeds'),
    keys: ['C'],
    enabled: selected,
    run: (editor) => editor.prompts.patch({ linking: editor.focusNode }),
  },
  {
    id: 'route-point',
    label: msg('Add a point to the link'),
    caption: msg('Reroute: a point that the selected link passes through, to be dragged'),
    enabled: (editor) => writable(editor) && links(editor.history.document).length > 0,
    run: actions.addPointToSelection,
  },
  {
    id: 'replace',
    label: msg('Replace operator…'),
    caption: msg('Replace the operator and keep the links'),
    keys: ['R'],
    enabled: selected,
    run: (editor) => {
      const pointer = editor.canvas?.pointer();
      if (pointer && editor.focusNode !== null)
        editor.prompts.patch({ quick: { ...pointer, replace: editor.focusNode } });
    },
  },
  {
    id: 'rename',
    label: msg('Rename'),
    keys: ['F2'],
    enabled: (editor) => editor.focusNode !== null || chosenGroup(editor) !== null,
    run: (editor) => editor.prompts.patch({ renaming: editor.focusNode ?? chosenGroup(editor) }),
  },
  {
    id: 'arguments',
    label: msg('Edit arguments'),
    caption: msg('To the first argument in the inspector; Esc comes back'),
    keys: ['Enter'],
    enabled: selected,
    run: (editor) => {
      const node = editor.focusNode;
      if (node === null) return;
      showPanel(editor, 'inspector');
      editor.select([node]);
      editor.prompts.patch({ attention: { node, argument: null } });
    },
  },
  {
    id: 'bypass',
    label: msg('Bypass'),
    caption: msg('Pass the input through, leave the node in place'),
    keys: ['B'],
    enabled: selected,
    checked: marked('bypass'),
    run: (editor) => actions.toggleView(editor, 'bypass'),
  },
  {
    id: 'disable',
    label: msg('Disable'),
    caption: msg('Leave the node in place, but compute neither it nor the nodes that need it'),
    keys: ['D'],
    enabled: selected,
    checked: marked('disabled'),
    run: (editor) => actions.toggleView(editor, 'disabled'),
  },
  {
    id: 'collapse',
    label: msg('Collapse'),
    keys: ['H'],
    enabled: any,
    checked: marked('collapsed'),
    run: (editor) => actions.toggleView(editor, 'collapsed'),
  },
  {
    id: 'collapse-all',
    label: msg('Pictures and names only'),
    caption: msg('Reduce all nodes to picture and name, or show all of them whole'),
    keys: ['Shift+H'],
    enabled: (editor) => filled(editor) && writable(editor),
    checked: ({ history: { document } }) =>
      filled({ history: { document } }) &&
      Object.keys(document.nodes).every((id) => document.view.nodes[id]?.collapsed),
    run: (editor) => {
      actions.toggleView(editor, 'collapsed', Object.keys(editor.history.document.nodes));
    },
  },
  {
    id: 'output',
    label: msg('Pipeline output'),
    caption: msg('Add the first output of this node to those of the pipeline, or remove it'),
    keys: ['O'],
    enabled: selected,
    checked: ({ focusNode, history }) => focusNode !== null && edits.isOutput(history.document, focusNode),
    run: (editor) => {
      if (editor.focusNode !== null) actions.toggleOutput(editor, { node: editor.focusNode, output: 0 });
    },
  },
  { id: 'group', label: msg('Group'), keys: ['Mod+G'], enabled: selected, run: actions.groupSelection },
  {
    id: 'ungroup',
    label: msg('Ungroup'),
    keys: ['Mod+Shift+G'],
    enabled: any,
    run: actions.ungroupSelection,
  },
  {
    id: 'subgraph',
    label: msg('Make a sub-graph'),
    caption: msg('One node of the selected ones, or of both ends of a link, which can be used again'),
    keys: ['Mod+Shift+U'],
    enabled: (editor) => writable(editor) && any(editor),
    run: actions.makeSubgraphOfSelection,
  },
  {
    id: 'open-subgraph',
    label: msg('Open or close the sub-graph'),
    caption: msg(
      'Its nodes stand on the canvas while it is open; all its uses follow. Makes one of several nodes, or of both ends of a link',
    ),
    keys: ['U'],
    enabled: (editor) => writable(editor) && any(editor),
    run: actions.toggleSubgraph,
  },
  {
    id: 'note',
    label: msg('Add note'),
    keys: ['N'],
    enabled: writable,
    run: (editor) => {
      const place = editor.canvas?.pointer().place ?? { x: 0, y: 0 };
      editor.edit(t('Add note'), (document) => {
        const result = edits.addNote(document, place);
        editor.select([], [], result.id);
        return result.document;
      });
    },
  },
  {
    id: 'arrange',
    label: msg('Arrange'),
    caption: msg('Automatic layout'),
    keys: ['L'],
    enabled: filled,
    run: actions.arrange,
  },
  ...(
    [
      ['left', msg('Align left edges')],
      ['centre', msg('Align centres')],
      ['right', msg('Align right edges')],
      ['top', msg('Align tops')],
      ['middle', msg('Align middles')],
      ['bottom', msg('Align bottoms')],
      ['across', msg('Spread across')],
      ['down', msg('Spread down')],
    ] as const
  ).map(([how, label]): Omit<Command, 'section'> => ({
    id: `align-${how}`,
    label,
    enabled: several,
    run: (editor) => actions.alignSelection(editor, how),
  })),
  ...(
    [
      ['ArrowLeft', -GRID, 0],
      ['ArrowRight', GRID, 0],
      ['ArrowUp', 0, -GRID],
      ['ArrowDown', 0, GRID],
    ] as const
  ).map(([key, x, y]): Omit<Command, 'section'> => ({
    id: `nudge-${key}`,
    label: msg('Move'),
    keys: [key],
    hidden: true,
    enabled: selected,
    run: nudge(x, y),
  })),
]);
