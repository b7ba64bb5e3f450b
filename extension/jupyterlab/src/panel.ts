/** The canvas over the text of a file, both ways, with its session in the document's kernel. */
import type { ISessionContextDialogs } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { Contents } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import type { Drag } from '@lumino/dragdrop';
import type { Message as LuminoMessage } from '@lumino/messaging';
import { Signal, type ISignal } from '@lumino/signaling';
import { PromiseDelegate } from '@lumino/coreutils';
import { Widget } from '@lumino/widgets';
import { DocumentError, emptyDocument, type GraphDocument } from '../../src/core/document';
import { changedPart, readGraph, writeGraph } from '../../src/core/text';
import { makeBar, showBar, type Action } from './bars';
import {
  loadEditor,
  type Handle,
  type Listing,
  type Message,
  type OpenRequest,
  type Request,
} from './editor';
import { KernelTransport, type State } from './transport';

const CONTENTS = 'application/x-jupyter-icontents';
const LEVELS = { restart: 'error', choose: 'warning', interrupt: 'info' } as const;
/** How long the canvas may be ahead of the text. */
const WRITE_MS = 200;

/** A text that several people may write in at once. */
interface ISharedText {
  updateSource(start: number, end: number, value: string): void;
}

const PANELS = ['palette', 'inspector', 'tray', 'minimap'] as const;

export interface Defaults {
  palette: boolean;
  inspector: boolean;
  tray: boolean;
  minimap: boolean;
  samples: number;
}

export interface Surroundings {
  commands: CommandRegistry;
  trans: TranslationBundle;
  dialogs: ISessionContextDialogs;
  contents: Contents.IManager;
  /** The person's defaults, once they are known. */
  defaults: () => Promise<Defaults>;
  /** Whether the session of this path is of use to somebody; that of a document that is closed is not. */
  uses: (path: string) => boolean;
  /** A new pipeline beside this one, in the same folder. */
  createNew: (folder: string) => Promise<GraphPanel | null>;
}

export class GraphPanel extends Widget {
  handle: Handle | null = null;
  private transport: KernelTransport | null = null;
  private canvas = document.createElement('div');
  private bars = { text: makeBar('text'), kernel: makeBar('kernel') };
  /** The text as the canvas last wrote or read it. */
  private text: string | null = null;
  private last: GraphDocument | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private mounting = false;
  /** The kernel died, and the person has not been told that it is back. */
  private died = false;
  private stops: (() => void)[] = [];
  private _changed = new Signal<this, void>(this);
  private _ready = new PromiseDelegate<void>();

  constructor(
    readonly context: DocumentRegistry.Context,
    private surroundings: Surroundings,
  ) {
    super();
    this.addClass('dali-document');
    this.canvas.className = 'dali-document-canvas';
    this.node.append(this.bars.text, this.bars.kernel, this.canvas);
    this.node.tabIndex = -1;
    void context.ready.then(() => {
      if (this.isDisposed) return;
      context.model.contentChanged.connect(this.onText, this);
      context.saveState.connect(this.onSave, this);
      context.pathChanged.connect(this.onPath, this);
      this.onText();
    });
  }

  /** Something that the toolbar shows has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Settled when the session has answered for the first time. */
  get ready(): Promise<void> {
    return this._ready.promise;
  }

  get state(): State | null {
    return this.transport?.state ?? null;
  }

  /** The document is about to be closed: what was drawn last is written, and a shared kernel is left alone. */
  leave(): void {
    this.write();
    this.transport?.leave();
    const { sessionContext } = this.context;
    const { session } = sessionContext;
    if (!session?.kernel) return;
    // The session of a document that was closed before stays with the kernel, and has no use for it.
    for (const { id, kernel, path } of sessionContext.sessionManager.running())
      if (id !== session.id && kernel?.id === session.kernel.id && this.surroundings.uses(path))
        sessionContext.kernelPreference = { ...sessionContext.kernelPreference, shutdownOnDispose: false };
  }

  override dispose(): void {
    if (this.isDisposed) return;
    if (this.timer !== null) clearTimeout(this.timer);
    for (const stop of this.stops) stop();
    this.handle?.dispose();
    this.handle = null;
    this.transport?.dispose();
    Signal.clearData(this);
    super.dispose();
  }

  /** The settings have changed: what they say differently now is done here, too. */
  takeDefaults(before: Defaults, now: Defaults): void {
    const { editor } = this.handle ?? {};
    if (!editor) return;
    if (now.samples !== before.samples) editor.samples.set(now.samples);
    for (const panel of PANELS)
      if (now[panel] !== before[panel])
        editor.panels.update((panels) => ({ ...panels, [panel]: now[panel] }));
  }

  /** Does an editor's command; false when it is not there or does not apply. */
  execute(id: string): boolean {
    return this.handle?.execCommand(id) ?? false;
  }

  /** Asks the session; what the canvas has not sent yet goes first. */
  async ask<T>(method: string, params: unknown): Promise<T> {
    const { handle } = this;
    if (!handle) throw new Error(this.surroundings.trans.__('The graph is not open yet.'));
    handle.editor.sync.flush();
    return handle.editor.connection.call<T>(method, params);
  }

  /** Cancels what is at work, in the kernel too. */
  stop(): void {
    this.execute('stop');
  }

  /** Puts a reader of a folder on the canvas; `path` as the contents manager names it. */
  addReader(path: string): void {
    const { handle, context } = this;
    if (!handle) return;
    const contents = this.localPath(path);
    const folder = PathExt.relative(PathExt.dirname(context.localPath), contents) || '.';
    const names = handle.editor.history.document.nodes;
    let name = 'reader';
    for (let count = 2; names[name]; count += 1) name = `reader_${count}`;
    const { place } = handle.editor.canvas?.pointer() ?? { place: { x: 0, y: 0 } };
    const label = this.surroundings.trans.__('Add reader of %1', PathExt.basename(contents));
    handle.editor.edit(label, (graph) => ({
      ...graph,
      nodes: {
        ...graph.nodes,
        [name]: {
          op: 'readers.file',
          device: 'cpu',
          inputs: [],
          arguments: { file_root: folder },
          connections: {},
        },
      },
      view: {
        ...graph.view,
        nodes: { ...graph.view.nodes, [name]: { x: Math.round(place.x), y: Math.round(place.y) } },
      },
    }));
    handle.editor.select([name]);
  }

  handleEvent(event: Event): void {
    switch (event.type) {
      case 'keydown':
        this.onKey(event as KeyboardEvent);
        break;
      case 'lm-dragenter':
      case 'lm-dragover':
      case 'lm-dragleave':
      case 'lm-drop':
        this.onDrag(event as Drag.Event);
        break;
      default:
        break;
    }
  }

  protected override onAfterAttach(message: LuminoMessage): void {
    super.onAfterAttach(message);
    this.node.addEventListener('keydown', this, true);
    for (const type of ['lm-dragenter', 'lm-dragover', 'lm-dragleave', 'lm-drop'])
      this.node.addEventListener(type, this);
    void this.mount();
  }

  protected override onBeforeDetach(message: LuminoMessage): void {
    this.node.removeEventListener('keydown', this, true);
    for (const type of ['lm-dragenter', 'lm-dragover', 'lm-dragleave', 'lm-drop'])
      this.node.removeEventListener(type, this);
    super.onBeforeDetach(message);
  }

  protected override onActivateRequest(message: LuminoMessage): void {
    super.onActivateRequest(message);
    if (this.handle) this.handle.focus();
    else this.node.focus();
  }

  private get readOnly(): boolean {
    return this.context.contentsModel?.writable === false || this.context.model.readOnly;
  }

  private get documentTitle(): string {
    return PathExt.basename(this.context.localPath).replace(/\.dali\.json$/, '');
  }

  private localPath(path: string): string {
    return path.replace(/^[^/:]+:/, '');
  }

  /** Shows the editor as soon as there are a place, a graph and the bundle. */
  private async mount(): Promise<void> {
    if (this.mounting || this.handle || !this.last || !this.isAttached) return;
    this.mounting = true;
    try {
      const [{ mount }, defaults] = await Promise.all([
        loadEditor(this.surroundings.trans),
        this.surroundings.defaults(),
      ]);
      await this.context.ready;
      if (this.isDisposed) return;
      const transport = new KernelTransport(this.context.sessionContext, this.surroundings.trans, {
        start: () => {
          const { handle } = this;
          // Until a session has answered, the canvas holds nothing yet.
          const known = handle && handle.editor.info.get().session !== null;
          return known ? handle.getDocument() : (this.last ?? emptyDocument());
        },
        title: () => this.documentTitle,
        readOnly: () => this.readOnly,
        answer: (request) => this.answer(request),
        incoming: (message) => this.incoming(message),
        onState: (state) => this.onState(state),
      });
      this.transport = transport;
      const { palette, inspector, tray, minimap, samples } = defaults;
      const { commands } = this.surroundings;
      const handle = mount(this.canvas, transport, {
        toolbar: false,
        panels: { palette, inspector, tray, minimap },
        storage: false,
        document: this.last,
        host: {
          createNew: () => void this.surroundings.createNew(PathExt.dirname(this.context.path)),
          saveAs: () => void commands.execute('docmanager:save-as'),
          open: (request) => this.openElsewhere(request),
        },
      });
      handle.editor.samples.set(samples);
      this.handle = handle;
      const tell = (): void => this._changed.emit();
      const { editor } = handle;
      this.stops.push(
        editor.history.onChange(({ origin }) => {
          if (origin !== 'reset') this.schedule();
          tell();
        }),
        editor.iteration.subscribe(tell),
        editor.info.subscribe(tell),
        editor.run.subscribe(tell),
        editor.ready.subscribe(() => {
          if (editor.ready.get()) this._ready.resolve();
          tell();
        }),
        editor.previews.status.subscribe(tell),
      );
      this.onState(transport.state);
      tell();
    } finally {
      this.mounting = false;
    }
  }

  /** Save is the document's; JupyterLab's keys for it do not reach into the editor. */
  private onKey(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== 's') return;
    event.preventDefault();
    event.stopPropagation();
    void this.surroundings.commands.execute(event.shiftKey ? 'docmanager:save-as' : 'docmanager:save');
  }

  private answer(request: Request): Promise<unknown> | undefined {
    if (request.method !== 'save') return undefined;
    const { path } = (request.params ?? {}) as { path?: string };
    if (path !== undefined) {
      const text = this.surroundings.trans.__(
        'Use Save As in the File menu: the file belongs to JupyterLab.',
      );
      return Promise.reject(new Error(text));
    }
    return this.context.save().then(() => ({ ...this.place(), dirty: false }));
  }

  /** A graph file opens as a document of its own, and what has no file as a new one, unless there is nothing here yet. */
  private async openElsewhere(request: OpenRequest): Promise<boolean> {
    const { handle, context } = this;
    if (!handle) return false;
    if ('path' in request && request.path.endsWith('.json')) {
      const path = await this.contentsPath(request.path);
      if (path === null) return false;
      await this.surroundings.commands.execute('docmanager:open', { path });
      return true;
    }
    if (Object.keys(handle.getDocument().nodes).length === 0) return false;
    const other = await this.surroundings.createNew(PathExt.dirname(context.path));
    await other?.ready;
    await other?.handle?.open(request);
    return other !== null;
  }

  /** How the contents manager names a file that the kernel names by its path; null when it is out of its reach. */
  private async contentsPath(path: string): Promise<string | null> {
    const listing = await this.ask<Listing>('list_files', { kinds: ['graph'] }).catch(() => null);
    const folder = PathExt.dirname(this.context.localPath);
    if (!listing?.path.endsWith(folder)) return null;
    const root = listing.path.slice(0, listing.path.length - folder.length).replace(/\/$/, '');
    return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;
  }

  private place(): { file: { path: string; name: string }; title: string } {
    const { localPath } = this.context;
    return { file: { path: localPath, name: PathExt.basename(localPath) }, title: this.documentTitle };
  }

  /** The file is this document's whatever the session thinks; what it opened instead becomes this file's text. */
  private incoming(message: Message): Message {
    const body =
      message.kind === 'response' ? message.result : message.kind === 'event' ? message.params : null;
    if (typeof body !== 'object' || body === null || !('file' in body)) return message;
    if ('document' in body && !('protocol' in body)) this.schedule();
    const placed = { ...body, ...this.place() };
    return message.kind === 'response' ? { ...message, result: placed } : { ...message, params: placed };
  }

  private onPath(): void {
    this.handle?.editor.info.update((info) => ({ ...info, ...this.place() }));
  }

  private onSave(_: unknown, state: DocumentRegistry.SaveState): void {
    if (state === 'started') this.write();
    if (state === 'completed') this.handle?.editor.info.update((info) => ({ ...info, dirty: false }));
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => this.write(), WRITE_MS);
  }

  /** The graph becomes the text: only the part that changed is written, so that others may write elsewhere. */
  private write(): void {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    const { handle, context } = this;
    if (!handle || context.isDisposed || this.readOnly || this.node.hasAttribute('data-unreadable')) return;
    if (handle.editor.info.get().session === null) return;
    const graph = handle.getDocument();
    const before = context.model.toString();
    const after = writeGraph(graph, before);
    this.last = graph;
    if (after === before) return;
    this.text = after;
    this.replaceText(before, after);
    // A text that several people write in is saved by the server.
    if (!context.model.collaborative) context.model.dirty = true;
  }

  private replaceText(before: string, after: string): void {
    const shared = this.context.model.sharedModel as Partial<ISharedText> &
      typeof this.context.model.sharedModel;
    const { start, end, text } = changedPart(before, after);
    if (shared.updateSource) shared.updateSource(start, end, text);
    else this.context.model.fromString(after);
  }

  /** The text changed: by a revert, another view of it, another person, or another program. */
  private onText(): void {
    const text = this.context.model.toString();
    if (text === this.text) return;
    this.text = text;
    try {
      const found = readGraph(text);
      this.node.removeAttribute('data-unreadable');
      showBar(this.bars.text, null);
      const base = this.last;
      this.last = found;
      // What was drawn since the last time that text and canvas were the same stays.
      if (this.handle) this.handle.setDocument(found, this.timer !== null && base ? base : undefined);
      else void this.mount();
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      this.refuse(error.message);
    }
  }

  /** The text holds no graph: the canvas keeps what it had, and nothing is written over the text. */
  private refuse(problem: string): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.node.setAttribute('data-unreadable', '');
    const { trans } = this.surroundings;
    const actions: Action[] = [{ title: trans.__('Open as text'), run: () => this.openText() }];
    const { last, context } = this;
    if (last && !this.readOnly) {
      const run = (): void => context.model.fromString(writeGraph(last));
      actions.push({ title: trans.__('Back to the graph as it was'), run });
    }
    showBar(this.bars.text, { level: 'error', text: problem, actions });
  }

  private openText(): void {
    void this.surroundings.commands.execute('docmanager:open', {
      path: this.context.path,
      factory: 'Editor',
      options: { mode: 'split-right' },
    });
  }

  private onState(state: State): void {
    const { trans, dialogs } = this.surroundings;
    const { sessionContext } = this.context;
    this._changed.emit();
    if (state.status !== 'disconnected') {
      if (state.status === 'connected' && this.died) {
        this.died = false;
        this.handle?.editor.notify(
          'warning',
          trans.__('The kernel died and was started again. The graph is kept.'),
        );
      }
      if (state.detail === undefined) {
        showBar(this.bars.kernel, null);
        return;
      }
    }
    this.died ||= state.died === true;
    const actions: Action[] = [];
    if (state.remedy === 'interrupt')
      actions.push({
        title: trans.__('Interrupt kernel'),
        run: () => void sessionContext.session?.kernel?.interrupt(),
      });
    if (state.remedy === 'restart')
      actions.push({
        title: trans.__('Restart kernel'),
        run: () =>
          void (sessionContext.session ? sessionContext.restartKernel() : sessionContext.startKernel()),
      });
    if (state.remedy)
      actions.push({
        title: trans.__('Choose kernel…'),
        run: () => void dialogs.selectKernel(sessionContext),
      });
    showBar(this.bars.kernel, {
      level: LEVELS[state.remedy ?? 'choose'],
      text: state.detail ?? trans.__('The kernel cannot be reached.'),
      actions,
    });
  }

  private onDrag(event: Drag.Event): void {
    const inside = event.type === 'lm-dragenter' || event.type === 'lm-dragover';
    const paths = event.mimeData.hasData(CONTENTS) ? (event.mimeData.getData(CONTENTS) as string[]) : [];
    this.toggleClass('dali-drop-target', inside && paths.length > 0);
    if (paths.length === 0 || this.readOnly || !this.handle) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.type === 'lm-dragover') event.dropAction = event.proposedAction;
    if (event.type !== 'lm-drop') return;
    event.dropAction = 'copy';
    void this.dropped(paths);
  }

  private async dropped(paths: readonly string[]): Promise<void> {
    const { contents, trans } = this.surroundings;
    for (const path of paths) {
      const found = await contents.get(path, { content: false }).catch(() => null);
      if (found?.type === 'directory') this.addReader(path);
      else
        this.handle?.editor.notify(
          'warning',
          trans.__('%1 is no folder: drop a folder of pictures to read it.', PathExt.basename(path)),
        );
    }
  }
}
