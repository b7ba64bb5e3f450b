/** The editor without a face: document, session, previews, selection and notices in one place. */
import { Catalogue } from './catalogue';
import type { Point } from './edits';
import { Connection, RequestError } from './connection';
import type { Facts, KnownOutput } from './connect';
import { checkDocument, emptyDocument, parseEdge, type GraphDocument, type OutputRef } from './document';
import { takeEvent } from './events';
import { focusTaps, previewRequest } from './focus';
import { History } from './history';
import { NoticeBoard, type NoticeOptions } from './noticeBoard';
import { Observable } from './observable';
import { oneAtATime } from './oneAtATime';
import { Opening } from './opening';
import { browserPictures, type Pictures } from './pictures';
import { Previews } from './previews';
import {
  PROTOCOL,
  type Bytes,
  type Hello,
  type Opened,
  type Problem,
  type RunDone,
  type SessionEvent,
  type Transport,
} from './protocol';
import type {
  Selection,
  Notice,
  SessionInfo,
  DialogName,
  QuickSearch,
  TrayState,
  Panels,
  CanvasPort,
  RunState,
  Host,
  Keymap,
  Program,
} from './state';
import { Sync } from './sync';
import { apply, type Changes } from './changes';
import type { CatalogueData } from './catalogue';
import { t } from './language';

export type * from './state';

const NO_SELECTION: Selection = { nodes: new Set(), links: new Set(), item: null };

export class Editor {
  readonly connection: Connection;
  readonly history: History;
  readonly opening: Opening;
  readonly previews: Previews;
  readonly sync: Sync;
  readonly catalogue = new Observable<Catalogue | null>(null);
  readonly info = new Observable<SessionInfo>({
    session: null,
    version: '',
    title: '',
    file: null,
    dirty: false,
    readOnly: false,
    device: '',
    seed: null,
    capabilities: {},
  });
  readonly document: Observable<GraphDocument>;
  readonly ready = new Observable(false);
  readonly selection = new Observable<Selection>(NO_SELECTION);
  readonly problems = new Observable<readonly Problem[]>([]);
  private readonly board = new NoticeBoard();
  readonly notices = this.board.notices;
  readonly dialog = new Observable<DialogName | null>(null);
  readonly quick = new Observable<QuickSearch | null>(null);
  /** The node whose output is being connected by keyboard. */
  readonly linking = new Observable<string | null>(null);
  /** A program of which a pipeline is to be chosen, or that must be run to be opened. */
  readonly program = new Observable<Program | null>(null);
  /** A path that is being chosen for an argument. */
  readonly picking = new Observable<{
    folder: boolean;
    start: string | null;
    choose: (path: string) => void;
  } | null>(null);
  /** The argument that the inspector is to show and to give the keys to; without a name, the first. */
  readonly attention = new Observable<{ node: string; argument: string | null } | null>(null);
  /** The sample under the pointer, marked at every node. */
  readonly hoverSample = new Observable<number | null>(null);
  readonly theme = new Observable<'light' | 'dark'>('light');
  /** The canvas shows nodes from afar: as a thumbnail and a name. */
  readonly far = new Observable(false);
  /** What is being given a name: a node, or a group by its `groupKey`. */
  readonly renaming = new Observable<string | null>(null);
  readonly samples = new Observable(4);
  readonly iteration = new Observable(0);
  readonly hoveredLink = new Observable<{ key: string; at: Point } | null>(null);
  readonly tray = new Observable<TrayState>({
    mode: 'batch',
    overlays: true,
    sample: 0,
    size: 200,
    output: 0,
  });
  readonly panels = new Observable<Panels>({ palette: true, inspector: true, tray: true, minimap: true });
  /** Panels for which there is no room now, whatever is chosen. */
  readonly folded = new Observable<ReadonlySet<keyof Panels>>(new Set());
  /** What had no room when the width was last looked at. */
  foldedFor = '';
  readonly run = new Observable<RunState | null>(null);
  /** Whether the gallery stands over the canvas. */
  readonly gallery = new Observable(false);
  readonly lastRun = new Observable<RunDone | null>(null);
  readonly keymap = new Observable<Keymap>(new Map());
  canvas: CanvasPort | null = null;
  host: Host = {};
  private stops: (() => void)[] = [];
  private disposed = false;

  constructor(transport: Transport, pictures: Pictures = browserPictures) {
    this.history = new History(emptyDocument());
    this.document = new Observable(this.history.document);
    this.opening = new Opening(this.history, () => this.canvas);
    this.connection = new Connection(transport);
    this.previews = new Previews(this.connection, () => previewRequest(this), pictures);
    this.sync = new Sync(this.connection, this.history, {
      onMeaning: () => this.previews.ask(),
      onRefused: (error) => this.notify('error', t('The session did not take the change: %1', error.message)),
    });
    this.stops.push(
      this.history.onChange(({ document, origin, meaning }) => {
        this.document.set(document);
        this.keepSelection(document);
        if (origin !== 'reset' && origin !== 'remote' && !this.info.get().dirty) {
          this.info.update((info) => ({ ...info, dirty: true }));
        }
        if (origin === 'remote' && meaning) this.previews.ask();
      }),
      this.connection.onEvent((event, buffers) => this.receive(event, buffers)),
      this.samples.subscribe(() => this.previews.ask()),
      this.gallery.subscribe((open) => !open && this.previews.ask()),
      this.iteration.subscribe(() => this.previews.ask()),
      this.selection.subscribe(() => this.onSelection()),
      this.tray.subscribe(() => this.askFocus()),
      this.panels.subscribe(() => this.askFocus()),
    );
    let before: string | null = null;
    const onStatus = (): void => {
      const { status } = this.connection.state.get();
      if (status === before) return;
      before = status;
      if (status === 'connected') void this.greet();
      else {
        this.sync.disconnected();
        this.previews.reset();
        this.run.set(null);
      }
    };
    this.stops.push(this.connection.state.subscribe(onStatus));
    onStatus();
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    for (const stop of this.stops) stop();
    this.previews.cancel();
    this.connection.dispose();
    this.previews.clear();
  }

  get facts(): Facts | null {
    const catalogue = this.catalogue.get();
    if (!catalogue) return null;
    return { document: this.history.document, catalogue, known: (source) => this.known(source) };
  }

  known(source: OutputRef): KnownOutput | undefined {
    const result = this.previews.result(source.node);
    const output = result?.stale ? undefined : result?.outputs[source.output];
    if (!output) return undefined;
    const dimensions = output.shapes[0]?.length;
    return {
      kind: output.kind,
      layout: output.layout,
      dtype: output.dtype,
      ...(dimensions === undefined ? {} : { dimensions }),
    };
  }

  get readOnly(): boolean {
    return this.info.get().readOnly;
  }

  /** An edit as one step of undo; with a gesture, edits of the same gesture are one step. */
  edit(label: string, change: (document: GraphDocument) => GraphDocument, gesture?: string): boolean {
    // Until the session has told what it holds, there is nothing to edit, and nothing that may be written anywhere.
    if (this.info.get().session === null) return false;
    if (this.readOnly) {
      this.notify('warning', t('This graph is read-only. Save it under another name to change it.'));
      return false;
    }
    return this.history.edit(label, change, gesture);
  }

  /** Applies changes that the session proposes, as a fix does. */
  applyChanges(document: GraphDocument, changes: Changes): GraphDocument {
    return apply(document, changes);
  }

  select(nodes: Iterable<string>, links: Iterable<string> = [], item: string | null = null): void {
    this.selection.set({ nodes: new Set(nodes), links: new Set(links), item });
  }

  /** The node whose batch the tray shows: what is selected, else what the pipeline gives. */
  get trayNode(): string | null {
    const { outputs, nodes } = this.history.document;
    const output = outputs.map(parseEdge).find(({ node }) => nodes[node]);
    return this.focusNode ?? output?.node ?? null;
  }

  /** The node that the inspector is about: the one selected last. */
  get focusNode(): string | null {
    return [...this.selection.get().nodes].at(-1) ?? null;
  }

  notify(level: Notice['level'], message: string, options: NoticeOptions = {}): void {
    this.board.notify(level, message, options);
  }

  dismiss(id: number): void {
    this.board.dismiss(id);
  }

  report(error: unknown, what: string): void {
    if (error instanceof RequestError)
      this.notify('error', `${what}: ${error.message}`, error.detail ? { detail: error.detail } : {});
    else throw error;
  }

  /** Shows a document before there is a session: it can be looked at, and not be edited yet. */
  show(document: GraphDocument): void {
    if (this.info.get().session === null) this.opening.show(document);
  }

  /** Takes a document that the session opened. */
  adopt(opened: Opened): void {
    let document: GraphDocument;
    try {
      document = checkDocument(opened.document);
    } catch (error) {
      this.notify('error', (error as Error).message);
      return;
    }
    this.iteration.set(0);
    this.lastRun.set(null);
    this.canvas?.release();
    this.selection.set(NO_SELECTION);
    this.previews.clear();
    this.history.reset(document);
    this.sync.adopt(document, opened.revision);
    this.info.update((info) => ({
      ...info,
      title: opened.title,
      file: opened.file,
      dirty: opened.dirty,
      seed: opened.seed,
    }));
    this.problems.set([]);
    for (const warning of opened.warnings ?? []) this.notify('warning', warning);
    this.opening.begin();
    this.previews.ask();
  }

  private async greet(): Promise<void> {
    const { session } = this.info.get();
    try {
      const hello = await this.connection.call<Hello>('hello', {
        protocol: PROTOCOL,
        client: this.connection.client,
        ...(session === null ? {} : { session, revision: this.sync.revision.get() }),
      });
      if (session === null) {
        await this.loadCatalogue();
        // Only now: where the connection breaks before, the next greeting is the first again.
        this.takeInfo(hello);
        this.adopt(hello);
      } else if (session === hello.session) {
        this.takeInfo(hello);
        this.sync.resume(checkDocument(hello.document), hello.revision);
        this.previews.ask();
      } else {
        const { file, dirty } = this.info.get();
        const document = this.history.document;
        const restored = await this.connection.call<Hello>('restore', { document, file, dirty });
        this.takeInfo(hello);
        this.sync.adopt(document, restored.revision);
        this.previews.clear();
        await this.loadCatalogue();
        this.previews.ask();
      }
      this.ready.set(true);
    } catch (error) {
      if (error instanceof RequestError && error.code === 'disconnected') return;
      this.report(error, t('The session did not start'));
    }
  }

  private takeInfo(hello: Hello): void {
    const first = this.info.get().session === null;
    this.info.update((info) => ({
      ...info,
      session: hello.session,
      version: hello.version,
      readOnly: hello.read_only,
      device: hello.device,
      capabilities: hello.capabilities,
      seed: hello.seed,
      ...(first ? { title: hello.title, file: hello.file, dirty: hello.dirty } : {}),
    }));
  }

  readonly loadCatalogue = oneAtATime(async () => {
    this.catalogue.set(new Catalogue(await this.connection.call<CatalogueData>('catalogue')));
  });

  private receive({ event, params }: SessionEvent, buffers: Bytes[]): void {
    if (this.previews.receive(event, params, buffers)) {
      if (event === 'preview.done') this.opening.pictured();
      return;
    }
    takeEvent(this, { kind: 'event', event, params });
  }

  private keepSelection(document: GraphDocument): void {
    const selection = this.selection.get();
    const nodes = [...selection.nodes].filter((id) => document.nodes[id]);
    if (nodes.length !== selection.nodes.size) this.selection.set({ ...selection, nodes: new Set(nodes) });
  }

  private focusKey = '';

  private onSelection(): void {
    if (this.tray.get().output !== 0) this.tray.update((tray) => ({ ...tray, output: 0 }));
    else this.askFocus();
    const { select } = this.info.get().capabilities;
    if (select)
      this.connection.call('select', { nodes: [...this.selection.get().nodes] }).catch(() => undefined);
  }

  private askFocus(): void {
    const key = JSON.stringify(focusTaps(this));
    if (key === this.focusKey) return;
    this.focusKey = key;
    if (key !== '[]') this.previews.ask();
  }
}
