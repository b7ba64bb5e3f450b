/** The whole editor: toolbar, palette, canvas, inspector, tray and status line; keys and clipboard. */
import { ReactFlowProvider } from '@xyflow/react';
import {
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  type ClipboardEvent,
  type ComponentType,
  type KeyboardEvent,
} from 'react';
import { removeSelection } from '../core/actions';
import { copySelection, paste } from '../core/clipboard';
import { execute } from '../core/commands';
import { KeyReader } from '../core/keys';
import { parseClip } from '../core/edits';
import type { DialogName, Editor } from '../core/editor';
import { open } from '../core/files';
import { fold } from '../core/folding';
import type { Value } from '../core/observable';
import { holdsGraph } from '../core/pasted';
import { isWriting } from '../core/writing';
import { Canvas } from './Canvas';
import { EditorContext, useEditor, useHint, usePanels, useValue } from './context';
import { DatasetDialog } from './dataset/DatasetDialog';
import { ExportDialog } from './dialogs/ExportDialog';
import { ProbeDialog } from './dialogs/ProbeDialog';
import { OpenDialog, PathDialog, SaveDialog } from './dialogs/FileDialogs';
import {
  CommandsDialog,
  HistoryDialog,
  LinkDialog,
  PipelineDialog,
  ShortcutsDialog,
} from './dialogs/OtherDialogs';
import { PermissionDialog } from './dialogs/PermissionDialog';
import { ProgramDialog } from './dialogs/ProgramDialog';
import { Inspector } from './Inspector';
import { LinkTip } from './LinkTip';
import { Notices } from './Notices';
import { OverlayContext } from './overlay';
import { useOutdated } from './Outdated';
import { Palette } from './Palette';
import { QuickSearch } from './QuickSearch';
import { StartCard } from './StartCard';
import { StatusLine } from './StatusLine';
import { remembered } from './storage';
import { Toolbar } from './Toolbar';
import { Tour } from './Tour';
import { Tray, TrayHandle } from './Tray';
import { msg, t } from '../core/language';
import { Words } from './Words';
import './App.css';

export interface Chrome {
  toolbar: boolean;
  status: boolean;
  /** The host has no theme of its own to follow. */
  themeButton: boolean;
  /** The gallery, which lies over the editor while it is shown. */
  gallery: ComponentType;
}

const trayHeight = remembered('tray-height', 236);

export function App({ editor, chrome }: { editor: Editor; chrome: Chrome }) {
  return (
    <EditorContext.Provider value={editor}>
      <ReactFlowProvider>
        <Shell chrome={chrome} />
      </ReactFlowProvider>
    </EditorContext.Provider>
  );
}

function Shell({ chrome }: { chrome: Chrome }) {
  const editor = useEditor();
  const root = useRef<HTMLDivElement>(null);
  const reader = useMemo(() => new KeyReader(editor), [editor]);
  const [overlay, setOverlay] = useState<HTMLDivElement | null>(null);
  const panels = usePanels();
  const ready = useValue(editor.session, ({ ready }) => ready);
  const fetching = useValue(editor.view, ({ fetching }) => fetching);
  const gallery = useValue(editor.view, ({ gallery }) => gallery);
  // Where the gallery is shown first, the editor under it waits until it is asked for.
  const [begun, setBegun] = useState(!gallery);
  if (!begun && !gallery) setBegun(true);
  const theme = useValue(editor.view, ({ theme }) => theme);
  const settled = useValue(editor.opening.settled);
  const connection = useValue(editor.connection.state, ({ status }) => status);
  const outdated = useOutdated(useValue(editor.jobs, ({ lastRun }) => lastRun?.run));
  const height = useValue(trayHeight);
  const empty = useValue(
    editor.document,
    ({ nodes, view }) => Object.keys(nodes).length === 0 && view.notes.length === 0,
  );
  const frame = useCallback(() => root.current?.getBoundingClientRect(), []);
  const onHeight = useCallback((next: number) => trayHeight.set(next), []);

  useEffect(() => {
    const element = root.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => {
      // A tab that is hidden has no width, and no need of room.
      if (element.clientWidth > 0) fold(editor, element.clientWidth);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [editor]);

  // Frequent changes go to attributes: nothing is drawn again.
  useEffect(() => {
    const { previews, sync, view } = editor;
    const tell = <T,>(name: string, value: Value<T>, text: (value: T) => string | null): (() => void) => {
      const show = (): void => {
        const now = text(value.get());
        if (now === null) root.current?.removeAttribute(name);
        else root.current?.setAttribute(name, now);
      };
      show();
      return value.subscribe(show);
    };
    const ends = [
      tell('data-preview', previews.status, ({ running }) => (running ? 'running' : 'idle')),
      tell('data-pending', sync.pending, String),
      tell('data-revision', sync.revision, String),
      // The sample under the pointer is marked at every node.
      tell('data-hover-sample', view.part('hoverSample'), (sample) =>
        sample === null ? null : String(sample),
      ),
    ];
    return () => ends.forEach((end) => end());
  }, [editor]);

  const onKeyDown = useCallback(
    (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const writing = isWriting(event.nativeEvent);
      const mod = event.ctrlKey || event.metaKey;
      // Keys that write text or move in it belong to the field, and to nobody around the editor.
      if (writing && !(mod || /^(F\d+|Escape)$/.test(event.key))) {
        event.stopPropagation();
        return;
      }
      // Copies are left to the clipboard events, which need no permission.
      if (mod && ['c', 'x', 'v'].includes(event.key.toLowerCase())) return;
      const target = event.target as HTMLElement;
      const inCanvas = target.closest('.canvas') !== null;
      // Tab searches from the canvas itself; within a node it goes from control to control.
      const onCanvas = target.matches('.canvas, .react-flow__node, .react-flow__edge');
      if ((event.key === 'Tab' || event.key === 'Enter') && !onCanvas) return;
      if ((event.key.startsWith('Arrow') || event.key === 'Home') && !inCanvas) return;
      if (event.key === 'Escape' && !onCanvas && !target.closest('.gallery')) {
        editor.canvas?.focus();
        event.preventDefault();
        return;
      }
      const found = reader.read(event);
      if (!found || (found !== 'more' && writing && !found.whileWriting)) return;
      // Enter and Space press the button that has the focus.
      event.preventDefault();
      event.stopPropagation();
      if (found === 'more') return;
      if (writing) {
        // The text written so far counts.
        target.blur();
        target.focus();
      }
      execute(editor, found.id);
    },
    [editor, reader],
  );

  const onCopy = useCallback(
    (event: ClipboardEvent, cut: boolean) => {
      if (isWriting(event.nativeEvent) || window.getSelection()?.toString()) return;
      const text = copySelection(editor);
      if (text === null) return;
      event.clipboardData.setData('text/plain', text);
      event.preventDefault();
      if (cut) removeSelection(editor);
    },
    [editor],
  );

  const onPaste = useCallback(
    (event: ClipboardEvent) => {
      if (isWriting(event.nativeEvent)) return;
      const text = event.clipboardData.getData('text/plain');
      event.preventDefault();
      if (parseClip(text) ?? text.trim() === '') paste(editor, text, editor.canvas?.pointer().place);
      else if (holdsGraph(text)) void open(editor, { text });
      else if (!paste(editor, null, editor.canvas?.pointer().place))
        editor.notify(
          'info',
          t('The clipboard holds neither nodes nor a graph nor a program with a pipeline.'),
        );
    },
    [editor],
  );

  return (
    <OverlayContext.Provider value={overlay}>
      <div
        ref={root}
        className="editor"
        role="region"
        aria-label={t('Pipeline editor')}
        data-testid="dali-editor"
        data-theme={theme}
        data-ready={ready}
        data-settled={settled}
        data-connection={connection}
        data-outdated={outdated}
        data-lm-suppress-shortcuts="true"
        data-jp-suppress-context-menu="true"
        onKeyDown={onKeyDown}
        onCopy={(event) => onCopy(event, false)}
        onCut={(event) => onCopy(event, true)}
        onPaste={onPaste}
      >
        {begun && chrome.toolbar && <Toolbar themeButton={chrome.themeButton} />}
        {begun && (
          <div className="middle">
            {panels.palette && <Palette />}
            <div className={`centre ${panels.focus ? 'beside' : ''}`}>
              <div className="stage">
                <Canvas />
                <Tour />
                {ready && empty && <EmptyCanvas />}
                {ready && empty && fetching && (
                  <div className="loading fetching fill muted" role="status">
                    <div className="stack">
                      {t('Opening…')}
                      <progress aria-label={t('Opening…')} />
                    </div>
                  </div>
                )}
                {!ready && empty && (
                  <div className="loading fill muted">
                    {connection === 'connected' ? t('Opening…') : t('Waiting for the session…')}
                  </div>
                )}
              </div>
              {panels.tray && !empty && (
                <div className="tray-frame" style={panels.focus ? undefined : { height }}>
                  {!panels.focus && <TrayHandle height={height} onHeight={onHeight} />}
                  <Tray />
                </div>
              )}
            </div>
            {panels.inspector && <Inspector />}
          </div>
        )}
        {begun && chrome.status && <StatusLine />}
        {begun && <LinkTip frame={frame} />}
        <div className="overlay fill" ref={setOverlay} />
        <QuickSearch />
        <Dialogs />
        {gallery && <chrome.gallery />}
        <Notices frame={frame} />
      </div>
    </OverlayContext.Provider>
  );
}

const DIALOGS: Record<DialogName, ComponentType<{ onClose: () => void }>> = {
  open: OpenDialog,
  save: SaveDialog,
  export: ExportDialog,
  shortcuts: ShortcutsDialog,
  commands: CommandsDialog,
  history: HistoryDialog,
  pipeline: PipelineDialog,
  dataset: DatasetDialog,
  probe: ProbeDialog,
};

/** An open dialog: one that was closed meanwhile does not close what was opened after it when its work ends. */
function Opened({ dialog }: { dialog: DialogName }) {
  const editor = useEditor();
  const open = useRef(true);
  useEffect(() => {
    open.current = true;
    return () => {
      open.current = false;
    };
  }, []);
  const close = useCallback(() => {
    if (open.current) editor.prompts.patch({ dialog: null });
  }, [editor]);
  const Shown = DIALOGS[dialog];
  return <Shown onClose={close} />;
}

function Dialogs() {
  const editor = useEditor();
  const dialog = useValue(editor.prompts, ({ dialog }) => dialog);
  return (
    <>
      {dialog && <Opened key={dialog} dialog={dialog} />}
      <LinkDialog />
      <PathDialog />
      <ProgramDialog />
      <PermissionDialog permissions={editor.permissions} />
    </>
  );
}

function EmptyCanvas() {
  const editor = useEditor();
  const capabilities = useValue(editor.session, (session) => session.capabilities);
  const search = useHint('search');
  const sample = capabilities.samples?.[0];
  return (
    <div className="empty-canvas" data-testid="empty-canvas">
      <h2>{t('Start a pipeline')}</h2>
      <div className="cards">
        {sample && (
          <StartCard
            data-start="sample"
            icon="gallery"
            title={t('Sample pipeline')}
            summary={sample.summary}
            onClick={() => void open(editor, { sample: sample.name })}
          />
        )}
        <StartCard
          data-start="open"
          icon="open"
          title={t('Open a file or code')}
          summary={t('A graph file, or Python code with a pipeline')}
          onClick={() => editor.prompts.patch({ dialog: 'open' })}
        />
        {capabilities.gallery_page === true && (
          <StartCard
            data-start="gallery"
            icon="gallery"
            title={t('Gallery')}
            summary={t('Augmentations and recipes to look at and take along')}
            onClick={() => editor.view.patch({ gallery: true })}
          />
        )}
      </div>
      <p className="muted">
        {search === undefined ? (
          t('Or drag an operator from the palette; double-click to search.')
        ) : (
          <Words
            of={msg('Or drag an operator from the palette; double-click or press %1 to search.')}
            parts={[<kbd key="search">{search}</kbd>]}
          />
        )}
      </p>
    </div>
  );
}
