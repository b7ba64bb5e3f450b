/** The canvas over the text of a file, with its session in the document's kernel. */
import type { ISessionContextDialogs } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { Contents } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import { PromiseDelegate } from '@lumino/coreutils';
import type { Drag } from '@lumino/dragdrop';
import type { Message as LuminoMessage } from '@lumino/messaging';
import { Signal, type ISignal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { emptyDocument } from '../../src/core/document';
import { DRAG_EVENTS, onDrag } from './dropping';
import {
  loadEditor,
  type Handle,
  type Message,
  type Method,
  type OpenRequest,
  type Parameters,
  type Result,
} from './editor';
import { KernelBar } from './kernelBar';
import { followKeys, passOn } from './keys';
import { sharePeople, type Awareness } from './people';
import { GraphText } from './text';
import { KernelTransport, type State } from './transport';

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
  /** Whether the session of this path is in use; the session of a closed document is not. */
  uses: (path: string) => boolean;
  /** A new pipeline in a folder; without one, in that of the file browser. */
  createNew: (folder?: string) => Promise<GraphPanel | null>;
}

export class GraphPanel extends Widget {
  handle: Handle | null = null;
  private transport: KernelTransport | null = null;
  private canvas = document.createElement('div');
  private text: GraphText;
  private bar: KernelBar;
  private mounting = false;
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
    const { trans, dialogs } = surroundings;
    this.text = new GraphText(context, this.node, {
      trans,
      handle: () => this.handle,
      show: () => void this.mount(),
      openText: () => this.openText(),
    });
    this.bar = new KernelBar(context.sessionContext, dialogs, trans, (message) =>
      this.handle?.editor.notify('warning', message),
    );
    this.node.append(this.text.bar, this.bar.node, this.canvas);
    this.node.tabIndex = -1;
    void context.ready.then(() => {
      if (this.isDisposed) return;
      context.model.contentChanged.connect(this.text.read, this.text);
      context.saveState.connect(this.onSave, this);
      context.pathChanged.connect(this.onPath, this);
      this.text.read();
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

  /** The document is about to be closed: writes the last edits, and leaves a shared kernel alone. */
  leave(): void {
    this.text.write();
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
    this.text.dispose();
    for (const stop of this.stops) stop();
    this.handle?.dispose();
    this.handle = null;
    this.transport?.dispose();
    Signal.clearData(this);
    super.dispose();
  }

  /** Applies changed settings. */
  takeDefaults(before: Defaults, now: Defaults): void {
    const { editor } = this.handle ?? {};
    if (!editor) return;
    if (now.samples !== before.samples) editor.batch.patch({ samples: now.samples });
    for (const panel of PANELS)
      if (now[panel] !== before[panel]) editor.panels.patch({ [panel]: now[panel] });
  }

  /** Runs an editor's command; false when it does not exist or does not apply. */
  execute(id: string): boolean {
    return this.handle?.execCommand(id) ?? false;
  }

  /** Sends the session a request, after the canvas's pending edits. */
  async ask<M extends Method>(method: M, ...params: Parameters<M>): Promise<Result<M>> {
    const { handle } = this;
    if (!handle) throw new Error(this.surroundings.trans.__('The graph is not open yet.'));
    handle.editor.sync.flush();
    return handle.editor.connection.call(method, ...params);
  }

  /** Cancels running work, in the kernel too. */
  stop(): void {
    this.execute('stop');
  }

  handleEvent(event: Event): void {
    if (event instanceof KeyboardEvent) passOn(event, this.node);
    else this.onDrag(event as Drag.Event);
  }

  protected override onAfterAttach(message: LuminoMessage): void {
    super.onAfterAttach(message);
    this.node.addEventListener('keydown', this, true);
    for (const type of ['keydown', ...DRAG_EVENTS]) this.node.addEventListener(type, this);
    void this.mount();
  }

  protected override onBeforeDetach(message: LuminoMessage): void {
    this.node.removeEventListener('keydown', this, true);
    for (const type of ['keydown', ...DRAG_EVENTS]) this.node.removeEventListener(type, this);
    super.onBeforeDetach(message);
  }

  protected override onActivateRequest(message: LuminoMessage): void {
    super.onActivateRequest(message);
    if (this.handle) this.handle.focus();
    else this.node.focus();
  }

  private get documentTitle(): string {
    return PathExt.basename(this.context.localPath).replace(/\.dali\.json$/, '');
  }

  /** Shows the editor as soon as there are a place, a graph and the bundle. */
  private async mount(): Promise<void> {
    if (this.mounting || this.handle || !this.text.graph || !this.isAttached) return;
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
          const known = handle && handle.editor.session.get().id !== null;
          return known ? handle.getDocument() : (this.text.graph ?? emptyDocument());
        },
        title: () => this.documentTitle,
        readOnly: () => this.text.readOnly,
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
        document: this.text.graph,
        host: {
          createNew: () => void this.surroundings.createNew(PathExt.dirname(this.context.path)),
          save: () => void commands.execute('docmanager:save'),
          saveAs: () => void commands.execute('docmanager:save-as'),
          open: (request) => this.openElsewhere(request),
        },
      });
      handle.editor.batch.patch({ samples });
      this.handle = handle;
      const tell = (): void => this._changed.emit();
      const { editor } = handle;
      this.stops.push(
        editor.history.onChange(({ origin }) => {
          if (origin !== 'reset') this.text.schedule();
          tell();
        }),
        editor.batch.watch('iteration', tell),
        editor.session.subscribe(tell),
        editor.jobs.watch('run', tell),
        editor.session.watch('ready', () => {
          if (editor.session.get().ready) this._ready.resolve();
          tell();
        }),
        editor.previews.status.subscribe(tell),
        editor.selection.subscribe(tell),
        editor.panels.subscribe(tell),
        editor.view.watch('folded', tell),
        followKeys(commands, this.canvas.firstElementChild ?? this.canvas, editor),
        ...this.together(editor),
      );
      this.onState(transport.state);
      tell();
    } finally {
      this.mounting = false;
    }
  }

  /** Shows the others who have the document open; what ends that. */
  private together(editor: Handle['editor']): (() => void)[] {
    const { model } = this.context;
    const { awareness } = model.sharedModel as { awareness?: Awareness };
    return model.collaborative && awareness ? [sharePeople(awareness, editor, this.node)] : [];
  }

  /** Opens a graph file as its own document, and a graph without a file as a new one, unless this one is empty. */
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

  /** The contents manager's path of a file that the kernel can see; null when it is out of its reach. */
  private async contentsPath(path: string): Promise<string | null> {
    const listing = await this.ask('list_files', { kinds: ['graph'] }).catch(() => null);
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
    if ('document' in body && !('protocol' in body)) this.text.schedule();
    const placed = { ...body, ...this.place() };
    return { ...message, [message.kind === 'response' ? 'result' : 'params']: placed };
  }

  private onPath(): void {
    this.handle?.editor.session.patch({ ...this.place() });
  }

  private onSave(_: unknown, state: DocumentRegistry.SaveState): void {
    if (state === 'started') this.text.write();
    if (state === 'completed') this.handle?.editor.session.patch({ dirty: false });
  }

  private openText(): void {
    void this.surroundings.commands.execute('docmanager:open', {
      path: this.context.path,
      factory: 'Editor',
      options: { mode: 'split-right' },
    });
  }

  private onState(state: State): void {
    this._changed.emit();
    this.bar.show(state);
  }

  private onDrag(event: Drag.Event): void {
    const { handle, context, text } = this;
    const { contents, trans } = this.surroundings;
    const folder = PathExt.dirname(context.localPath);
    const would = onDrag(event, { handle, readOnly: text.readOnly, folder, contents, trans });
    this.toggleClass('dali-drop-target', would);
  }
}
