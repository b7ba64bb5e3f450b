/** Every command of the editor with its words and keys: toolbar, command search, shortcut list and hosts draw from it. */
import * as actions from './actions';
import type { Editor, Panels } from './editor';
import * as files from './files';
import { showPanel, togglePanel } from './folding';
import * as commands from './commands';
import { copySelection, duplicateSelection, paste } from './clipboard';
import { GRID } from './layout';
import { nextProblem, nudge, walk } from './navigation';
import { groupKey } from './subgraphs';
import { msg, t } from './language';

/** Headings in the list of shortcuts. */
export type Section = 'File' | 'Edit' | 'Graph' | 'View' | 'Run';

export const SECTIONS: readonly Section[] = [msg('File'), msg('Edit'), msg('Graph'), msg('View'), msg('Run')];

export interface Command {
  id: string;
  label: string;
  caption?: string;
  /** Like `Mod+Shift+Z`; `Mod` is Ctrl, on a Mac Cmd. */
  keys?: string[];
  section: Section;
  /** Not in the search of commands. */
  hidden?: boolean;
  enabled?: (editor: Editor) => boolean;
  run: (editor: Editor) => void;
}

const selected = (editor: Editor): boolean => editor.selection.get().nodes.size > 0;
const several = (editor: Editor): boolean => editor.selection.get().nodes.size > 1;
const any = (editor: Editor): boolean => {
  const { nodes, links, item } = editor.selection.get();
  return nodes.size + links.size > 0 || item !== null;
};
/** The group that is selected as a whole, as what is to be given a name. */
function chosenGroup(editor: Editor): string | null {
  const { item } = editor.selection.get();
  const group = editor.history.document.view.groups.find(({ id }) => id === item);
  return group ? groupKey(group.id) : null;
}
const writable = (editor: Editor): boolean => !editor.readOnly;

function toggle(panel: keyof Panels): (editor: Editor) => void {
  return (editor) => togglePanel(editor, panel);
}

export function quickSearch(editor: Editor): void {
  const pointer = editor.canvas?.pointer();
  if (pointer) editor.quick.set(pointer);
}

async function copyOut(editor: Editor, cut: boolean): Promise<void> {
  const text = copySelection(editor);
  if (text === null) return;
  // Without the permission to write to the system's clipboard, the editor's own still works.
  await globalThis.navigator.clipboard.writeText(text).catch(() => undefined);
  if (cut) actions.removeSelection(editor);
}

export const COMMANDS: readonly Command[] = [
  { id: 'new', label: msg('New graph'), section: 'File', run: (editor) => void files.createNew(editor) },
  {
    id: 'open',
    label: msg('Open…'),
    caption: msg('Open a graph, a sample or a gallery entry'),
    keys: ['Mod+O'],
    section: 'File',
    run: (editor) => editor.dialog.set('open'),
  },
  {
    id: 'gallery',
    label: msg('Gallery'),
    caption: msg('Augmentations and recipes to look at, compare and take along'),
    section: 'File',
    enabled: (editor) => editor.info.get().capabilities.gallery_page === true,
    run: (editor) => editor.gallery.set(true),
  },
  {
    id: 'save',
    label: msg('Save'),
    keys: ['Mod+S'],
    section: 'File',
    run: (editor) => {
      if (editor.info.get().file) void files.save(editor);
      else editor.dialog.set('save');
    },
  },
  {
    id: 'save-as',
    label: msg('Save as…'),
    keys: ['Mod+Shift+S'],
    section: 'File',
    run: (editor) => (editor.host.saveAs ? editor.host.saveAs() : editor.dialog.set('save')),
  },
  {
    id: 'export',
    label: msg('Export…'),
    caption: msg('Show the graph as code'),
    keys: ['Mod+E'],
    section: 'File',
    run: (editor) => editor.dialog.set('export'),
  },
  {
    id: 'pipeline',
    label: msg('Pipeline settings…'),
    caption: msg('Batch size, threads, seed'),
    section: 'File',
    run: (editor) => editor.dialog.set('pipeline'),
  },
  {
    id: 'undo',
    label: msg('Undo'),
    keys: ['Mod+Z'],
    section: 'Edit',
    enabled: (editor) => editor.history.state.get().done > 0,
    run: (editor) => void editor.history.undo(),
  },
  {
    id: 'redo',
    label: msg('Redo'),
    keys: ['Mod+Shift+Z', 'Mod+Y'],
    section: 'Edit',
    enabled: ({ history }) => history.state.get().done < history.state.get().steps.length,
    run: (editor) => void editor.history.redo(),
  },
  {
    id: 'history',
    label: msg('History'),
    caption: msg('All steps, to go back to any'),
    keys: ['Mod+H'],
    section: 'Edit',
    run: (editor) => editor.dialog.set('history'),
  },
  {
    id: 'cut',
    label: msg('Cut'),
    keys: ['Mod+X'],
    section: 'Edit',
    enabled: selected,
    run: (editor) => void copyOut(editor, true),
  },
  {
    id: 'copy',
    label: msg('Copy'),
    keys: ['Mod+C'],
    section: 'Edit',
    enabled: selected,
    run: (editor) => void copyOut(editor, false),
  },
  {
    id: 'paste',
    label: msg('Paste'),
    section: 'Edit',
    enabled: writable,
    run: (editor) => void paste(editor, null, editor.canvas?.pointer().place),
  },
  {
    id: 'duplicate',
    label: msg('Duplicate'),
    keys: ['Mod+D'],
    section: 'Edit',
    enabled: selected,
    run: (editor) => void duplicateSelection(editor),
  },
  {
    id: 'delete',
    label: msg('Delete'),
    caption: msg('Delete; wires through stay where they can'),
    keys: ['Delete', 'Backspace'],
    section: 'Edit',
    enabled: any,
    run: actions.removeSelection,
  },
  {
    id: 'select-all',
    label: msg('Select all'),
    keys: ['Mod+A'],
    section: 'Edit',
    run: (editor) => editor.select(Object.keys(editor.history.document.nodes)),
  },
  {
    id: 'select-before',
    label: msg('Select all that feeds this'),
    keys: ['Shift+['],
    section: 'Edit',
    enabled: selected,
    run: (editor) => actions.selectConnected(editor, 'before'),
  },
  {
    id: 'select-after',
    label: msg('Select all that this feeds'),
    keys: ['Shift+]'],
    section: 'Edit',
    enabled: selected,
    run: (editor) => actions.selectConnected(editor, 'after'),
  },
  {
    id: 'unselect',
    label: msg('Select nothing'),
    keys: ['Escape'],
    section: 'Edit',
    hidden: true,
    run: (editor) => editor.select([]),
  },
  {
    id: 'search',
    label: msg('Add operator…'),
    caption: msg('Search and place at the pointer'),
    keys: ['Tab', 'Mod+Space'],
    section: 'Graph',
    enabled: writable,
    run: quickSearch,
  },
  {
    id: 'connect',
    label: msg('Connect…'),
    caption: msg('Choose by name what the selected node feeds'),
    keys: ['C'],
    section: 'Graph',
    enabled: selected,
    run: (editor) => editor.linking.set(editor.focusNode),
  },
  {
    id: 'replace',
    label: msg('Replace operator…'),
    caption: msg('Another operator in its place, links kept'),
    keys: ['R'],
    section: 'Graph',
    enabled: selected,
    run: (editor) => {
      const pointer = editor.canvas?.pointer();
      if (pointer && editor.focusNode !== null) editor.quick.set({ ...pointer, replace: editor.focusNode });
    },
  },
  {
    id: 'rename',
    label: msg('Rename'),
    keys: ['F2'],
    section: 'Graph',
    enabled: (editor) => editor.focusNode !== null || chosenGroup(editor) !== null,
    run: (editor) => editor.renaming.set(editor.focusNode ?? chosenGroup(editor)),
  },
  {
    id: 'arguments',
    label: msg('Edit arguments'),
    caption: msg('To the first argument in the inspector; Esc comes back'),
    keys: ['Enter'],
    section: 'Graph',
    enabled: selected,
    run: (editor) => {
      const node = editor.focusNode;
      if (node === null) return;
      showPanel(editor, 'inspector');
      editor.select([node]);
      editor.attention.set({ node, argument: null });
    },
  },
  {
    id: 'bypass',
    label: msg('Bypass'),
    caption: msg('Pass the input through, leave the node in place'),
    keys: ['B'],
    section: 'Graph',
    enabled: selected,
    run: (editor) => actions.toggleView(editor, 'bypass'),
  },
  {
    id: 'disable',
    label: msg('Disable'),
    caption: msg('Leave the node in place, but compute neither it nor what needs it'),
    keys: ['D'],
    section: 'Graph',
    enabled: selected,
    run: (editor) => actions.toggleView(editor, 'disabled'),
  },
  {
    id: 'collapse',
    label: msg('Collapse'),
    keys: ['H'],
    section: 'Graph',
    enabled: any,
    run: (editor) => actions.toggleView(editor, 'collapsed'),
  },
  {
    id: 'output',
    label: msg('Pipeline output'),
    caption: msg('What training gets: add or remove the first output of this node'),
    keys: ['O'],
    section: 'Graph',
    enabled: selected,
    run: (editor) => {
      if (editor.focusNode !== null) actions.toggleOutput(editor, { node: editor.focusNode, output: 0 });
    },
  },
  {
    id: 'group',
    label: msg('Group'),
    keys: ['Mod+G'],
    section: 'Graph',
    enabled: selected,
    run: actions.groupSelection,
  },
  {
    id: 'ungroup',
    label: msg('Ungroup'),
    keys: ['Mod+Shift+G'],
    section: 'Graph',
    enabled: any,
    run: actions.ungroupSelection,
  },
  {
    id: 'note',
    label: msg('Add note'),
    keys: ['N'],
    section: 'Graph',
    enabled: writable,
    run: (editor) => {
      const place = editor.canvas?.pointer().place ?? { x: 0, y: 0 };
      editor.edit(t('Add note'), (document) => {
        const result = commands.addNote(document, place);
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
    section: 'Graph',
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
  ).map(([how, label]): Command => ({
    id: `align-${how}`,
    label,
    section: 'Graph',
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
  ).map(([key, x, y]): Command => ({
    id: `nudge-${key}`,
    label: msg('Move'),
    keys: [key],
    section: 'Graph',
    hidden: true,
    enabled: selected,
    run: nudge(x, y),
  })),
  ...(
    [
      ['ArrowLeft', 'left', msg('Go to what feeds this')],
      ['ArrowRight', 'right', msg('Go to what this feeds')],
      ['ArrowUp', 'up', msg('Go to the node above')],
      ['ArrowDown', 'down', msg('Go to the node below')],
    ] as const
  ).map(([key, direction, label]): Command => ({
    id: `go-${direction}`,
    label,
    keys: [`Alt+${key}`],
    section: 'View',
    run: walk(direction),
  })),
  {
    id: 'fit',
    label: msg('Fit'),
    caption: msg('Show the whole graph'),
    keys: ['F', 'Home'],
    section: 'View',
    run: (editor) => editor.canvas?.fit(),
  },
  {
    id: 'fit-selection',
    label: msg('Fit selection'),
    keys: ['Shift+F'],
    section: 'View',
    enabled: selected,
    run: (editor) => editor.canvas?.fit([...editor.selection.get().nodes]),
  },
  {
    id: 'zoom-in',
    label: msg('Zoom in'),
    keys: ['Mod+=', '+'],
    section: 'View',
    run: (editor) => editor.canvas?.zoom(1.25),
  },
  {
    id: 'zoom-out',
    label: msg('Zoom out'),
    keys: ['Mod+-', '-'],
    section: 'View',
    run: (editor) => editor.canvas?.zoom(0.8),
  },
  { id: 'next-problem', label: msg('Go to next problem'), keys: ['F8'], section: 'View', run: nextProblem },
  {
    id: 'toggle-palette',
    label: msg('Palette'),
    keys: ['Mod+Shift+1'],
    section: 'View',
    run: toggle('palette'),
  },
  {
    id: 'toggle-inspector',
    label: msg('Inspector'),
    keys: ['Mod+Shift+2'],
    section: 'View',
    run: toggle('inspector'),
  },
  {
    id: 'toggle-tray',
    label: msg('Batch tray'),
    keys: ['Mod+Shift+3'],
    section: 'View',
    run: toggle('tray'),
  },
  { id: 'toggle-minimap', label: msg('Minimap'), keys: ['M'], section: 'View', run: toggle('minimap') },
  {
    id: 'theme',
    label: msg('Dark or light'),
    section: 'View',
    run: (editor) => editor.theme.update((theme) => (theme === 'dark' ? 'light' : 'dark')),
  },
  {
    id: 'commands',
    label: msg('Find command or node…'),
    keys: ['Mod+K', 'Mod+F'],
    section: 'View',
    run: (editor) => editor.dialog.set('commands'),
  },
  {
    id: 'shortcuts',
    label: msg('Keyboard shortcuts'),
    keys: ['?', 'Shift+?'],
    section: 'View',
    run: (editor) => editor.dialog.set('shortcuts'),
  },
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((count): Command => ({
    id: `samples-${count}`,
    label: count > 1 ? msg('Show %1 samples') : msg('Show %1 sample'),
    keys: [String(count)],
    section: 'View',
    hidden: true,
    run: (editor) => editor.samples.set(count),
  })),
  {
    id: 'run',
    label: msg('Run'),
    caption: msg('Measure the speed of a real run'),
    keys: ['Mod+Enter'],
    section: 'Run',
    enabled: (editor) => editor.run.get() === null,
    run: (editor) => void files.runBatches(editor, 20),
  },
  { id: 'stop', label: msg('Stop'), keys: ['Mod+.'], section: 'Run', run: files.stop },
  {
    id: 'preview',
    label: msg('Preview again'),
    section: 'Run',
    run: (editor) => editor.previews.ask(),
  },
  {
    id: 'step',
    label: msg('Next batch'),
    keys: ['.'],
    section: 'Run',
    run: (editor) => editor.iteration.update((at) => at + 1),
  },
  {
    id: 'step-back',
    label: msg('Previous batch'),
    keys: [','],
    section: 'Run',
    enabled: (editor) => editor.iteration.get() > 0,
    run: (editor) => editor.iteration.update((at) => Math.max(0, at - 1)),
  },
];

const BY_ID = new Map(COMMANDS.map((command) => [command.id, command]));

export function command(id: string): Command | undefined {
  return BY_ID.get(id);
}

export function execute(editor: Editor, id: string): boolean {
  const found = BY_ID.get(id);
  if (!found || found.enabled?.(editor) === false) return false;
  found.run(editor);
  return true;
}
