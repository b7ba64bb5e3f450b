/** Commands that change the view, and nothing in the graph. */
import { shownPanels, togglePanel } from '../folding';
import { readerOf } from '../datasets';
import { msg } from '../language';
import { nextProblem, walk } from '../navigation';
import { goTo } from '../tour';
import { filled, selected, writable, inSection, type Command, opens } from './command';

export const VIEW = inSection('View', [
  ...(
    [
      ['ArrowLeft', 'left', msg('Go to the node that feeds this one')],
      ['ArrowRight', 'right', msg('Go to the node that this one feeds')],
      ['ArrowUp', 'up', msg('Go to the node above')],
      ['ArrowDown', 'down', msg('Go to the node below')],
    ] as const
  ).map(([key, direction, label]): Omit<Command, 'section'> => ({
    id: `go-${direction}`,
    label,
    keys: [`Alt+${key}`],
    run: walk(direction),
  })),
  {
    id: 'fit',
    label: msg('Fit'),
    caption: msg('Show the whole graph'),
    keys: ['F', 'Home'],
    enabled: filled,
    run: (editor) => editor.canvas?.fit(),
  },
  {
    id: 'fit-selection',
    label: msg('Fit selection'),
    keys: ['Shift+F'],
    enabled: selected,
    run: (editor) => editor.canvas?.fit([...editor.selection.get().nodes]),
  },
  { id: 'zoom-in', label: msg('Zoom in'), keys: ['Mod+=', '+'], run: (editor) => editor.canvas?.zoom(1.25) },
  { id: 'zoom-out', label: msg('Zoom out'), keys: ['Mod+-', '-'], run: (editor) => editor.canvas?.zoom(0.8) },
  {
    id: 'next-panel',
    label: msg('Go to the next panel'),
    caption: msg('From the toolbar to palette, canvas, tray and inspector; Esc goes to the canvas'),
    keys: ['F6'],
    whileWriting: true,
    run: (editor) => editor.canvas?.walkPanels(1),
  },
  {
    id: 'previous-panel',
    label: msg('Go to the previous panel'),
    keys: ['Shift+F6'],
    whileWriting: true,
    run: (editor) => editor.canvas?.walkPanels(-1),
  },
  {
    id: 'next-problem',
    label: msg('Go to next problem'),
    keys: ['F8'],
    whileWriting: true,
    run: nextProblem,
  },
  ...(
    [
      ['palette', msg('Palette'), 'Mod+Shift+1'],
      ['inspector', msg('Inspector'), 'Mod+Shift+2'],
      ['tray', msg('Batch tray'), 'Mod+Shift+3'],
      ['minimap', msg('Minimap'), 'M'],
    ] as const
  ).map(([panel, label, keys]): Omit<Command, 'section'> => ({
    id: `toggle-${panel}`,
    label,
    keys: [keys],
    checked: ({ panels, view }) => shownPanels(panels.get(), view.get().folded)[panel],
    run: (editor) => togglePanel(editor, panel),
  })),
  {
    id: 'focus',
    label: msg('Canvas alone'),
    caption: msg('The canvas with the batch tray beside it; again for all panels'),
    keys: ['Z'],
    checked: ({ panels }) => panels.get().focus,
    run: ({ panels }) => panels.patch({ focus: !panels.get().focus }),
  },
  {
    id: 'beside',
    label: msg('Second graph beside'),
    caption: msg('A second graph beside this one, over the same samples; again to close it'),
    keys: ['Shift+B'],
    enabled: ({ host }) => host.beside !== undefined,
    run: ({ host }) => host.beside?.(),
  },
  {
    id: 'theme',
    label: msg('Dark or light'),
    run: (editor) =>
      editor.view.update((state) => ({ ...state, theme: state.theme === 'dark' ? 'light' : 'dark' })),
  },
  {
    id: 'dataset',
    label: msg('Dataset'),
    caption: msg('All samples of the reader: search, filter, and choose some to preview'),
    keys: ['Shift+D'],
    enabled: (editor) =>
      editor.session.get().capabilities.dataset === true && readerOf(editor, null) !== null,
    run: opens('dataset'),
  },
  {
    id: 'commands',
    label: msg('Find command or node…'),
    keys: ['Mod+K', 'Mod+F'],
    whileWriting: true,
    run: opens('commands'),
  },
  {
    id: 'tour',
    label: msg('Tour'),
    caption: msg('Six gestures in two minutes, tried in this graph'),
    enabled: (editor) => filled(editor) && writable(editor),
    run: (editor) => goTo(editor, 0),
  },
  { id: 'shortcuts', label: msg('Keyboard shortcuts'), keys: ['?', 'Shift+?'], run: opens('shortcuts') },
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((count): Omit<Command, 'section'> => ({
    id: `samples-${count}`,
    label: count > 1 ? msg('Show %1 samples') : msg('Show %1 sample'),
    keys: [String(count)],
    hidden: true,
    run: (editor) => editor.batch.patch({ samples: count }),
  })),
]);
