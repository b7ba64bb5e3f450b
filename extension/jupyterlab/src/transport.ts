/** Carries the session protocol over a comm to the document's kernel, and reports the kernel's state. */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel, ServerConnection, Session } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { JSONObject } from '@lumino/coreutils';
import { KernelComm } from './comm';
import type { Bytes, ConnectionStatus, GraphDocument, Message, Transport } from './editor';
import { load } from './loading';
import { pause } from './pause';
import { hasKernel } from './server';

/** Time that a connection may be broken before the canvas says so. */
const AWAY_MS = 1500;
const RETRY_MS = 2000;
/** Time that JupyterLab has to connect again to a kernel that runs. */
const RECONNECT_MS = 30_000;
const TARGET = 'dali_lab.session';

export interface Start extends JSONObject {
  document: JSONObject;
  title: string;
  read_only: boolean;
}

export interface State {
  status: ConnectionStatus;
  detail?: string | undefined;
  /** Action that is offered to the user. */
  remedy?: 'choose' | 'restart' | 'interrupt' | undefined;
  died?: boolean;
}

export interface Hooks {
  /** First document of a new session. */
  start(): GraphDocument;
  title(): string;
  readOnly(): boolean;
  /** Rewrites messages of the session. */
  incoming(message: Message): Message;
  onState(state: State): void;
}

type Listener = (message: Message, buffers: Bytes[]) => void;
type StatusListener = (status: ConnectionStatus, detail?: string) => void;

export class KernelTransport implements Transport {
  state: State = { status: 'connecting' };
  private comm: KernelComm | null = null;
  private listeners = new Set<Listener>();
  private statusListeners = new Set<StatusListener>();
  private attempt = 0;
  /** The part that was lost since the session last worked. */
  private lost: 'kernel' | 'server' | null = null;
  /** The session's kernel, or the one that it was to run in. */
  private kernel: Kernel.IModel | null = null;
  /** There has been a session, or another kernel replaced one that ended before that. */
  private begun = false;
  private away: ReturnType<typeof setTimeout> | null = null;
  /** A replacement for an ended kernel is being looked for. */
  private beginning = false;
  /** A new kernel is being started as the replacement. */
  private starting = false;
  /** The server is being asked whether it is back. */
  private reaching = false;
  private leaving = false;
  private disposed = false;

  constructor(
    private context: ISessionContext,
    private trans: TranslationBundle,
    private hooks: Hooks,
  ) {
    context.kernelChanged.connect(this.onKernel, this);
    context.statusChanged.connect(this.onStatusChange, this);
    context.connectionStatusChanged.connect(this.onConnection, this);
    void context.ready.then(() => {
      if (!this.disposed && !context.session?.kernel) this.noKernel();
    });
    // Where there is no kernel to choose, this is reported before the user is asked to choose.
    void context.specsManager.ready.then(() => {
      if (!this.disposed && !context.session?.kernel && !this.hasPython) this.noKernel();
    });
    void this.connect();
  }

  send(message: Message): void {
    if (!this.comm) throw new Error(this.state.detail ?? this.trans.__('There is no kernel.'));
    this.comm.send(message as unknown as JSONObject);
  }

  onMessage(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  onStatus(listener: StatusListener): () => void {
    this.statusListeners.add(listener);
    listener(this.state.status, this.state.detail);
    return () => {
      this.statusListeners.delete(listener);
    };
  }

  /** The document is about to be closed: a kernel that is being started for it is not waited for, and ends. */
  leave(): void {
    this.leaving = true;
    if (this.starting) this.context.shutdown().catch(() => undefined);
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.hold();
    this.attempt += 1;
    this.context.kernelChanged.disconnect(this.onKernel, this);
    this.context.statusChanged.disconnect(this.onStatusChange, this);
    this.context.connectionStatusChanged.disconnect(this.onConnection, this);
    this.drop(true);
    this.listeners.clear();
    this.statusListeners.clear();
  }

  /** Makes a session in the present kernel. */
  async connect(): Promise<void> {
    const kernel = this.context.session?.kernel;
    this.drop(true);
    const attempt = ++this.attempt;
    if (!kernel || this.disposed) return;
    this.hold();
    this.lost = null;
    // The first connection to a kernel answers all comms, and closes those it does not know: it would take the widgets
    // from a notebook that shares this kernel. Here none are answered.
    (kernel as { handleComms: boolean }).handleComms = false;
    this.kernel = { id: kernel.id, name: kernel.name };
    this.set({ status: 'connecting' });
    const loaded = await load(kernel, this.trans, (detail) => {
      if (attempt === this.attempt) this.set({ status: 'connecting', detail, remedy: 'interrupt' });
    });
    if (attempt !== this.attempt) return;
    if ('problem' in loaded) {
      if (!this.context.session?.kernel) return this.beginAgain(kernel);
      this.set({ status: 'disconnected', detail: loaded.problem, remedy: 'choose' });
      return;
    }
    const comm = new KernelComm(kernel, TARGET, loaded.shells, {
      message: (data, buffers) => this.deliver(this.hooks.incoming(data as unknown as Message), buffers),
      closed: () => {
        if (this.comm !== comm) return;
        this.comm = null;
        this.set({
          status: 'disconnected',
          detail: this.trans.__('The session in the kernel ended.'),
          remedy: 'restart',
        });
      },
    });
    this.comm = comm;
    const start = (): Start => ({
      document: this.hooks.start() as unknown as JSONObject,
      title: this.hooks.title(),
      read_only: this.hooks.readOnly(),
    });
    if (!(await comm.open(start))) return;
    this.begun = true;
    this.set({ status: 'connected' });
  }

  /**
   * Replaces a kernel that ended.
   * Changing the kernel signals kernels that end and start, so this must not begin a second time meanwhile.
   */
  private async beginAgain(gone: Kernel.IModel): Promise<void> {
    if (this.beginning) return;
    this.beginning = true;
    const waits = (): boolean => !this.leaving && !this.disposed && !this.context.session?.kernel;
    for await (const model of this.candidates(gone)) {
      if (!waits()) break;
      this.starting = model.id === undefined;
      await this.context.changeKernel(model).catch(() => undefined);
      this.starting = false;
      if (!waits()) break;
    }
    this.beginning = false;
    if (waits()) this.noKernel();
  }

  /** The kernels to try in place of one that ended, in order; none where the user has not asked for a kernel. */
  private async *candidates({ id, name }: Kernel.IModel): AsyncGenerator<Partial<Kernel.IModel>> {
    // The server ended with its kernels: a kernel of the same kind is started once the server is back.
    while (this.lost === 'server') {
      if ((await hasKernel(id, this.settings)) !== null) yield { name };
      await pause(RETRY_MS);
    }
    // JupyterLab drops a kernel that its last list did not have yet: it is connected again.
    if (!this.begun && (await this.isRunning(id))) yield { id };
    // A kernel that ended before its session began belonged to a document just closed: this one gets its own.
    if (this.begun) return;
    this.begun = true;
    yield { name };
  }

  private async isRunning(id: string): Promise<boolean> {
    const { kernelManager } = this.context;
    await kernelManager?.refreshRunning().catch(() => undefined);
    return [...(kernelManager?.running() ?? [])].some((kernel) => kernel.id === id);
  }

  private onKernel(_: unknown, { oldValue }: Session.ISessionConnection.IKernelChangedArgs): void {
    if (this.context.session?.kernel) {
      void this.connect();
      return;
    }
    this.drop(false);
    if (!this.kernel) this.noKernel();
    // After a server is back, a change without an ended kernel means that one is being started already.
    else if (oldValue !== null || this.lost !== 'server') void this.beginAgain(this.kernel);
  }

  private onStatusChange(_: unknown, status: Kernel.Status): void {
    if (status === 'restarting' || status === 'autorestarting') {
      this.lose(
        status === 'restarting'
          ? { status: 'disconnected', detail: this.trans.__('The kernel restarts.') }
          : {
              status: 'disconnected',
              detail: this.trans.__('The kernel died and restarts. The graph is kept.'),
              died: true,
            },
      );
    } else if (status === 'dead' || status === 'terminating') {
      // A server that is back, or a kernel that its owner shut down: the session ends where the list of sessions says so.
      if (status === 'dead') this.context.sessionManager.refreshRunning().catch(() => undefined);
      if (this.lost === 'server') return;
      this.lose({
        status: 'disconnected',
        detail: this.trans.__('The kernel died. The graph is kept.'),
        remedy: 'restart',
      });
    } else if (
      status === 'starting' ? this.lost || this.state.status === 'connected' : this.lost && status === 'idle'
    ) {
      // One that starts although it answered already was restarted from another document or notebook.
      void this.connect();
    }
  }

  private onConnection(_: unknown, status: Kernel.ConnectionStatus): void {
    this.hold();
    if (status === 'connected') {
      if (this.lost) void this.connect();
    } else if (!this.lost) {
      // A short break is not reported; during a longer one the canvas says so and keeps the user's edits.
      this.away = setTimeout(() => this.loseServer(), status === 'disconnected' ? 0 : AWAY_MS);
    }
  }

  /** Cancels the timer of a broken connection. */
  private hold(): void {
    if (this.away !== null) clearTimeout(this.away);
    this.away = null;
  }

  private loseServer(): void {
    const kernel = this.context.session?.kernel;
    // A connection also ends with its kernel or its session: the server is still there then.
    if (!kernel || kernel.isDisposed || kernel.connectionStatus === 'connected') return;
    const detail = this.trans.__(
      'The server cannot be reached. The graph is kept, and sent when it is back.',
    );
    this.lose({ status: 'disconnected', detail }, 'server');
    void this.reach();
  }

  /**
   * Asks the server until it is back, then connects to the kernel or drops the session that ended with the server.
   * JupyterLab itself asks ever more rarely, in the end every five minutes.
   */
  private async reach(): Promise<void> {
    if (this.reaching) return;
    this.reaching = true;
    const waits = (): boolean => this.lost === 'server' && !this.disposed;
    while (waits()) {
      const { session } = this.context;
      const kernel = session?.kernel;
      if (kernel && !kernel.isDisposed) {
        const there = await hasKernel(kernel.id, this.settings);
        if (!waits()) break;
        if (there) await Promise.race([kernel.reconnect().catch(() => undefined), pause(RECONNECT_MS)]);
        if (there === false) {
          await this.context.sessionManager.refreshRunning().catch(() => undefined);
          // The list of sessions ends no session where it was empty before, too.
          if (waits() && this.context.session?.kernel === kernel) session.dispose();
        }
      }
      await pause(RETRY_MS);
    }
    this.reaching = false;
  }

  private get settings(): ServerConnection.ISettings | undefined {
    return this.context.sessionManager.serverSettings;
  }

  private get hasPython(): boolean {
    const specs = Object.values(this.context.specsManager.specs?.kernelspecs ?? {});
    return specs.some((spec) => spec?.language.toLowerCase() === 'python');
  }

  private noKernel(): void {
    const any = this.hasPython;
    const detail = any
      ? this.trans.__('No kernel is chosen. The graph can be edited; pictures need a kernel.')
      : this.trans.__(
          'No Python kernel is installed here: run "pip install ipykernel dali-lab", then reload. The graph can be read as text.',
        );
    this.set({ status: 'disconnected', detail, ...(any ? { remedy: 'choose' } : {}) });
  }

  private lose(state: State, what: 'kernel' | 'server' = 'kernel'): void {
    this.hold();
    this.drop(false);
    this.attempt += 1;
    this.lost = what;
    this.set(state);
  }

  /** Drops the comm; with `tell`, the kernel's side is closed too. */
  private drop(tell: boolean): void {
    this.comm?.close(tell);
    this.comm = null;
  }

  private deliver(message: Message, buffers: Bytes[] = []): void {
    for (const listener of [...this.listeners]) listener(message, buffers);
  }

  private set(state: State): void {
    this.state = state;
    this.hooks.onState(state);
    for (const listener of [...this.statusListeners]) listener(state.status, state.detail);
  }
}
