/** Side panels that give way to the canvas where there is little room; the person may open them all the same. */
import type { Editor } from './editor';
import type { Panels } from './state';

/** Widths of the editor below which a panel gives way, in CSS pixels: some 360 of them are left to the canvas. */
const NEEDS: readonly [panel: keyof Panels, width: number][] = [
  ['palette', 840],
  ['inspector', 640],
  ['minimap', 480],
];

/** The panels that an editor of this width has no room for. */
function foldedAt(width: number): (keyof Panels)[] {
  return NEEDS.filter(([, needed]) => width < needed).map(([panel]) => panel);
}

/** The chosen panels without the folded ones. */
export function shownPanels(chosen: Panels, folded: ReadonlySet<keyof Panels>): Panels {
  const shown = { ...chosen };
  for (const panel of folded) shown[panel] = false;
  if (chosen.focus) shown.palette = shown.inspector = shown.minimap = false;
  return shown;
}

/** Folds panels without room. One opened in spite of that stays open until the width passes a limit again. */
export function fold(editor: Editor, width: number): void {
  const wanted = foldedAt(width);
  if (wanted.join() === editor.foldedFor) return;
  editor.foldedFor = wanted.join();
  editor.view.patch({ folded: new Set(wanted) });
}

/** Opens a panel, or closes it. */
export function showPanel(editor: Editor, panel: keyof Panels, open = true): void {
  // A panel that is asked for ends the focus on the canvas; the tray is part of it.
  if (open && panel !== 'tray' && panel !== 'focus') editor.panels.patch({ focus: false });
  if (open && editor.view.get().folded.has(panel))
    editor.view.update((state) => ({
      ...state,
      folded: new Set([...state.folded].filter((each) => each !== panel)),
    }));
  if (editor.panels.get()[panel] !== open) editor.panels.patch({ [panel]: open });
}

export function togglePanel(editor: Editor, panel: keyof Panels): void {
  showPanel(editor, panel, !shownPanels(editor.panels.get(), editor.view.get().folded)[panel]);
}
