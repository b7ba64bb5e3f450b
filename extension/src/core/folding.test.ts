import { expect, test } from 'vitest';
import { Editor } from './editor';
import { fold, showPanel, shownPanels, togglePanel } from './folding';
import type { Transport } from './protocol';

const nowhere: Transport = {
  send: () => undefined,
  onMessage: () => () => undefined,
  onStatus: () => () => undefined,
  dispose: () => undefined,
};

test('side panels give way where there is little room, and come back', () => {
  const editor = new Editor(nowhere);
  const shown = (): string[] =>
    Object.entries(shownPanels(editor.panels.get(), editor.view.get().folded))
      .filter(([, open]) => open)
      .map(([panel]) => panel);
  const all = shown();
  fold(editor, 1100);
  expect(shown()).toEqual(all);
  fold(editor, 700);
  expect(shown()).toEqual(['inspector', 'tray', 'minimap']);
  fold(editor, 400);
  expect(shown()).toEqual(['tray']);
  // A panel opened in spite of that stays open, and does not count as chosen for wide editors.
  togglePanel(editor, 'inspector');
  fold(editor, 420);
  expect(shown()).toEqual(['inspector', 'tray']);
  togglePanel(editor, 'inspector');
  expect(shown()).toEqual(['tray']);
  showPanel(editor, 'inspector');
  fold(editor, 1100);
  expect(shown()).toEqual(all);
  togglePanel(editor, 'palette');
  fold(editor, 700);
  fold(editor, 1100);
  expect(shown()).not.toContain('palette');
  editor.dispose();
});
