/** Puts an editor into an element: its own shadow root, so that neither styles the other. */
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from '../canvas/App';
import { keptGraphs, remember, remembered } from '../canvas/storage';
import { makeHost } from './shadow';
import { execute, isChecked, isEnabled } from '../core/commands';
import { apply, diff, isEmpty } from '../core/changes';
import { checkDocument, type GraphDocument } from '../core/document';
import { Editor, type Host, type OpenRequest } from '../core/editor';
import { open } from '../core/files';
import type { Panels } from '../core/state';
import type { Transport } from '../core/protocol';
import { hasHostTheme, hostTheme, watchHostTheme, type Theme } from './theme';
import { GalleryInEditor } from '../gallery/InEditor';
import { keepUndo } from './undo';
import { t } from '../core/language';

export interface MountOptions {
  theme?: 'auto' | Theme;
  /** The editor's own toolbar; false where the host shows the commands in its own. */
  toolbar?: boolean;
  status?: boolean;
  /** Panels that are open at first, where the person has not chosen. */
  panels?: Partial<Panels>;
  /** Storage key of the open panels in this browser; false where the host has settings for that. */
  storage?: string | false;
  /** Shown until the session's document arrives, or where there is no session. */
  document?: GraphDocument;
  /** Actions that the host overrides. */
  host?: Host;
  /** The view that is shown first. */
  view?: 'editor' | 'gallery';
  /** CSS height; without it the editor fills its element. */
  height?: string;
}

/** In a cell there is little room: the pictures at the nodes come first. */
export const COMPACT: MountOptions = { panels: { tray: false, minimap: false }, storage: 'notebook' };

export interface Replacing {
  /** The common ancestor of both documents: changes made here since then stay, argument by argument. */
  base?: GraphDocument | null;
  /** Other people have written it: it is no step of this person's, and undo does not take it back. */
  shared?: boolean;
}

export interface Handle {
  readonly editor: Editor;
  getDocument(): GraphDocument;
  /** Replaces the document as one step that can be undone. */
  setDocument(document: GraphDocument, how?: Replacing): void;
  execCommand(id: string): boolean;
  /** Whether a command applies now, and whether the option that it switches is on. */
  commandState(id: string): { enabled: boolean; checked: boolean };
  /** Opens a file, a text, a sample or a gallery entry; false when it could not be. */
  open(request: OpenRequest): Promise<boolean>;
  onChange(listener: (document: GraphDocument) => void): () => void;
  setTheme(theme: 'auto' | Theme): void;
  /** Shows the editor in another element, as it is. */
  moveTo(element: HTMLElement): void;
  focus(): void;
  dispose(): void;
}

const chosenTheme = remembered<Theme | null>('theme', null);

export function mount(element: HTMLElement, transport: Transport, options: MountOptions = {}): Handle {
  const { host, container } = makeHost(element, 'dali-lab-editor', options.height);
  host.dataset['jpSuppressContextMenu'] = 'true';

  const editor = new Editor(transport);
  editor.kept = keptGraphs;
  if (options.view === 'gallery') editor.view.patch({ gallery: true });
  if (options.panels) editor.panels.update((panels) => ({ ...panels, ...options.panels }));
  if (options.host) editor.host = options.host;
  if (options.document) editor.show(options.document);
  if (options.storage !== false) {
    remember(options.storage ? `panels:${options.storage}` : 'panels', editor.panels);
    remember('samples', editor.batch.part('samples'));
  }

  const hosted = hasHostTheme();
  let wanted = options.theme ?? 'auto';
  const themeNow = (): Theme => {
    if (wanted !== 'auto') return wanted;
    return hosted ? hostTheme() : (chosenTheme.get() ?? hostTheme());
  };
  editor.view.patch({ theme: themeNow() });
  const stops = [
    keepUndo(editor),
    watchHostTheme(() => editor.view.patch({ theme: themeNow() })),
    editor.view.watch('theme', (theme) => {
      if (!hosted && theme !== themeNow()) {
        wanted = 'auto';
        chosenTheme.set(theme);
      }
    }),
  ];

  const root = createRoot(container);
  root.render(
    createElement(App, {
      editor,
      chrome: {
        toolbar: options.toolbar ?? true,
        status: options.status ?? true,
        themeButton: !hosted,
        gallery: GalleryInEditor,
      },
    }),
  );

  let disposed = false;
  return {
    editor,
    getDocument: () => editor.history.document,
    setDocument: (next, { base, shared } = {}) => {
      const now = editor.history.document;
      const checked = checkDocument(next);
      const merged = base ? apply(checked, diff(base, now)) : checked;
      if (isEmpty(diff(now, merged))) return;
      if (shared) editor.takeShared(merged);
      else if (editor.readOnly) void editor.takeWritten(merged);
      else editor.edit(t('Replace the graph'), () => merged);
    },
    execCommand: (id) => execute(editor, id),
    commandState: (id) => ({ enabled: isEnabled(editor, id), checked: isChecked(editor, id) ?? false }),
    open: (request) => open(editor, request),
    onChange: (listener) => editor.document.subscribe(listener),
    setTheme: (theme) => {
      wanted = theme;
      editor.view.patch({ theme: themeNow() });
    },
    moveTo: (another) => another.append(host),
    focus: () => editor.canvas?.focus(),
    dispose: () => {
      if (disposed) return;
      disposed = true;
      for (const stop of stops) stop();
      root.unmount();
      editor.dispose();
      host.remove();
    },
  };
}
