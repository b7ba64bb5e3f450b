/** The editor without a user interface: document, session, previews, selection and notices in one place. */
import { keepApart, makeWay } from './apart';
import { Catalogue } from './catalogue';
import { diff } from './changes';
import { Connection, RequestError } from './connection';
import type { Facts, KnownOutput } from './connect';
import { checkDocument, emptyDocument, parseEdge, type GraphDocument, type OutputRef } from './document';
import { joinOpen, subgraphOperators } from './definitions';
import { takeEvent } from './events';
import { focusTaps, previewRequest, TRAY_SAMPLES } from './focus';
import { History } from './history';
import { end } from './jobs';
import { Moments } from './moments';
import type { Kept } from './kept';
import { NODE_SIZE, type Size } from './layout';
import { NoticeBoard, type NoticeOptions } from './noticeBoard';
import { Observable, Slice } from './observable';
import { oneAtATime } from './oneAtATime';
import { Opening } from './opening';
import type { Person } from './people';
import { Permissions } from './permissions';
import { browserPictures, type Pictures } from './pictures';
import { Previews } from './previews';
import {
  PROTOCOL,
  type Bytes,
  type Hello,
  type Opened,
  type Problem,
  type Problems,
  type SessionEvent,
  type Transport,
} from './protocol';
import {
  NO_PROMPTS,
  type BatchState,
  type CanvasPort,
  type Host,
  type JobState,
  type Notice,
  type Panels,
  type Prompts,
  type Selection,
  type SessionInfo,
  type TrayState,
  type ViewState,
} from './state';
import { Sync } from './sync';
import type { TourState } from './tour';
import { t } from './language';

export type * from './state';

const NO_SELECTION: Selection = { nodes: new Set(), links: new Set(), item: null };

export class Editor {
  readonly connection: Connection;
  readonly history: History;
  readonly opening: Opening;
  readonly permissions: Permissions;
  readonly previews: Previews;
  readonly moments: Moments;
  readonly sync: Sync;
  readonly catalogue = new Observable<Catalogue | null>(null);
  readonly session = new Slice<SessionInfo>({
    id: null,
    ready: false,
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
  readonly selection = new Observable<Selection>(NO_SELECTION);
  readonly problems = new Observable<readonly Problem[]>([]);
  /** The revision of the document that has them. */
  private problemsOf = -1;
  private readonly board = new NoticeBoard();
  readonly notices = this.board.notices;
  readonly prompts = new Slice<Prompts>(NO_PROMPTS);
  readonly view = new Slice<ViewState>({
    theme: 'light',
    far: false,
    taken: false,
    moving: false,
    folded: new Set(),
    gallery: false,
    fetching: false,
    hoverSample: null,
    hoveredLink: null,
    keymap: new Map(),
  });
  readonly panels = new Slice<Panels>({
    focus: false,
    palette: true,
    inspector: true,
    tray: true,
    minimap: true,
  });
  readonly batch = new Slice<BatchState>({ samples: 4, seen: TRAY_SAMPLES, iteration: 0, pins: null });
  readonly tour = new Observable<TourState | null>(null);
  readonly tray = new Slice<TrayState>({
    mode: 'batch',
    overlays: true,
    sample: 0,
    reveal: null,
    size: 168,
    output: 0,
  });
  /** The others who have the document open. */
  readonly people = new Observable<readonly Person[]>([]);
  /** Graphs that gave way to others before they were saved, the latest first. */
  kept: Observable<readonly Kept[]> = new Observable<readonly Kept[]>([]);
  /** The graph that each piece of work was begun with, by its run. */
  readonly worked = new Map<number, GraphDocument>();
  readonly jobs = new Slice<JobState>({
    run: null,
    lastRun: null,
    check: null,
    lastCheck: null,
    distribution: null,
    lastDistribution: null,
    cache: null,
    lastCache: null,
    probe: null,
    probeSettings: { nodes: null, seeds: 3, epochs: 8, samples: 600 },
    lastProbe: null,
    probed: null,
  });
  /** Nodes that are others than in the graph beside this one; null without such a graph. */
  readonly differing = new Observable<ReadonlySet<string> | null>(null);
  /** Nodes from readers on whose results are the same in every epoch. */
  readonly unchanging = new Observable<ReadonlySet<string>>(new Set());
  /** The panels that had no room when the width was last looked at. */
  foldedFor = '';
  canvas: CanvasPort | null = null;
  host: Host = {};
  /** The operators of the session, without the sub-graphs of the document. */
  private operators: Catalogue | null = null;
  private stops: (() => void)[] = [];
  private disposed = false;

  constructor(transport: Transport, pictures: Pictures = browserPictures) {
    this.history = new History(emptyDocument());
    this.document = new Observable(this.history.document);
    this.opening = new Opening(
      this.history,
      () => this.canvas,
      () => this.view.get().moving,
    );
    this.connection = new Connection(transport);
    this.permissions = new Permissions(this.connection, () => this.previews.ask());
    this.previews = new Previews(this.connection, () => previewRequest(this), pictures);
    this.sync = new Sync(this.connection, this.history, {
      onMeaning: () => this.previews.ask(),
      onRefused: (error) => this.notify('error', t('The session did not take the change: %1', error.message)),
    });
    this.moments = new Moments(this);
    this.stops.push(
      this.moments.watch(),
      this.history.onChange(({ document, origin, meaning }) => {
        if (document.subgraphs !== this.document.get().subgraphs) this.offer(document);
        this.document.set(document);
        this.keepSelection(document);
        if (origin !== 'reset' && origin !== 'remote') this.session.patch({ dirty: true });
        if (origin === 'remote' && meaning) this.previews.ask();
      }),
      this.connection.onEvent((event, buffers) => this.receive(event, buffers)),
      this.batch.subscribe(() => this.previews.ask()),
      this.view.watch('gallery', (open) => {
        // Notices belong to the page that they came up on.
        this.board.settle();
        if (!open) this.previews.ask();
      }),
      this.prompts.watch('dialog', (dialog) => dialog !== null && this.board.settle()),
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
        this.jobs.patch({ run: null, check: null, distribution: null, probe: null });
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
    return this.session.get().readOnly;
  }

  /** An edit as one step of undo; with a gesture, edits of the same gesture are one step. */
  edit(label: string, change: (document: GraphDocument) => GraphDocument, gesture?: string): boolean {
    // Until the session's document has arrived, there is nothing to edit, and nothing may be written anywhere.
    if (this.session.get().id === null) return false;
    if (this.readOnly) {
      this.notify('warning', t('This graph is read-only. Save it under another name to change it.'));
      return false;
    }
    const before = this.history.document;
    const apart = (document: GraphDocument): GraphDocument =>
      keepApart(document, joinOpen(document, change(document), this.sizeOf), this.sizeOf);
    this.sync.prepare();
    if (!this.history.edit(label, apart, gesture)) return false;
    const fresh = Object.keys(this.history.document.nodes).filter((id) => !before.nodes[id]);
    if (fresh.length > 0) this.canvas?.show(fresh);
    return true;
  }

  /** Takes the document as other people have written it: no step of ours, so undo does not take it back. */
  takeShared(document: GraphDocument): void {
    if (this.session.get().id === null) return;
    this.history.applyRemote(diff(this.history.document, document));
    this.sync.send();
  }

  /** Takes the document as another program has written it, where it is read-only here: nothing is to be kept. */
  async takeWritten(document: GraphDocument): Promise<void> {
    const { id, file } = this.session.get();
    if (id === null) return;
    try {
      this.adopt(
        await this.connection.call('restore', { document, file: file && { ...file }, dirty: false }),
      );
    } catch (error) {
      this.report(error, t('It could not be opened'));
    }
  }

  /** The size of a card as it is drawn, or as it will be about. */
  readonly sizeOf = (id: string): Size => this.canvas?.sizeOf(id) ?? NODE_SIZE;

  /** Moves cards out of each other's way after some have grown: part of the last step, or of none. */
  makeWay(): void {
    if (!this.opening.settled.get() || this.readOnly || this.view.get().far) return;
    this.history.amend((document) => makeWay(document, this.sizeOf));
  }

  select(nodes: Iterable<string>, links: Iterable<string> = [], item: string | null = null): void {
    this.selection.set({ nodes: new Set(nodes), links: new Set(links), item });
  }

  /** The node whose batch the tray shows: the selected one, else the pipeline's output. */
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

  /** Removes notices whose cause has gone: those about a subject, or all of them. */
  settleNotices(about?: string): void {
    this.board.settle(about);
  }

  dismiss(id: number): void {
    this.board.dismiss(id);
  }

  report(error: unknown, what: string): void {
    if (error instanceof RequestError)
      this.notify('error', `${what}: ${error.message}`, {
        about: what,
        ...(error.detail ? { detail: error.detail } : {}),
      });
    else throw error;
  }

  /** Shows a document before there is a session: it can be looked at, and not be edited yet. */
  show(document: GraphDocument): void {
    if (this.session.get().id === null) this.opening.show(document);
  }

  takeProblems({ revision, problems, unchanging = [] }: Problems): void {
    this.problemsOf = revision;
    const known = this.unchanging.get();
    if (unchanging.length !== known.size || unchanging.some((id) => !known.has(id)))
      this.unchanging.set(new Set(unchanging));
    this.problems.set(problems);
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
    this.board.settle();
    this.batch.patch({ iteration: 0, pins: null });
    for (const job of ['run', 'check', 'distribution'] as const) end(this, job);
    const none = { run: null, check: null, distribution: null };
    const nothing = { lastRun: null, lastCheck: null, lastCache: null, lastProbe: null };
    this.jobs.patch({ ...none, ...nothing, lastDistribution: null });
    this.canvas?.release();
    this.selection.set(NO_SELECTION);
    this.previews.clear();
    this.history.reset(document);
    this.sync.adopt(document, opened.revision);
    const { title, file, dirty, seed } = opened;
    this.session.patch({ title, file, dirty, seed });
    // They may have come together with the document, and before it was taken.
    if (this.problemsOf !== opened.revision) this.problems.set([]);
    for (const warning of opened.warnings ?? []) this.notify('warning', warning);
    this.opening.begin();
    this.previews.ask();
  }

  private async greet(): Promise<void> {
    const { id: session } = this.session.get();
    try {
      const hello = await this.connection.call('hello', {
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
        const { file, dirty } = this.session.get();
        const document = this.history.document;
        const restored = await this.connection.call('restore', {
          document,
          file: file && { ...file },
          dirty,
        });
        this.takeInfo(hello);
        this.sync.adopt(document, restored.revision);
        this.previews.clear();
        await this.loadCatalogue();
        this.previews.ask();
      }
      this.session.patch({ ready: true });
    } catch (error) {
      if (error instanceof RequestError && error.code === 'disconnected') return;
      this.report(error, t('The session did not start'));
    }
  }

  private takeInfo(hello: Hello): void {
    const { id } = this.session.get();
    this.session.patch({
      id: hello.session,
      version: hello.version,
      readOnly: hello.read_only,
      device: hello.device,
      capabilities: hello.capabilities,
      seed: hello.seed,
      ...(id === null ? { title: hello.title, file: hello.file, dirty: hello.dirty } : {}),
    });
  }

  readonly loadCatalogue = oneAtATime(async () => {
    this.operators = new Catalogue(await this.connection.call('catalogue'));
    this.offer(this.history.document);
  });

  /** Sets the catalogue: the operators of the session, and the sub-graphs of a document. */
  private offer({ subgraphs = {} }: GraphDocument): void {
    if (this.operators) this.catalogue.set(this.operators.with(subgraphOperators(subgraphs, this.operators)));
  }

  private receive(event: SessionEvent, buffers: Bytes[]): void {
    if (!this.previews.receive(event, buffers)) takeEvent(this, event);
    else if (event.event === 'preview.done') this.opening.pictured();
  }

  private keepSelection(document: GraphDocument): void {
    const selection = this.selection.get();
    const nodes = [...selection.nodes].filter((id) => document.nodes[id]);
    if (nodes.length !== selection.nodes.size) this.selection.set({ ...selection, nodes: new Set(nodes) });
  }

  private focusKey = '';

  private onSelection(): void {
    if (this.tray.get().output !== 0) this.tray.patch({ output: 0 });
    else this.askFocus();
    const { select } = this.session.get().capabilities;
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
