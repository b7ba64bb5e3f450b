/** Carries the session protocol over a comm to the document's kernel, and says what became of the kernel. */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel, KernelMessage, Session } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { JSONObject } from '@lumino/coreutils';
import { answered } from './answered';
import { KernelComm } from './comm';
import type { Bytes, ConnectionStatus, GraphDocument, Message, Request, Transport } from './editor';

/** How long a connection may be broken before the canvas says so. */
const AWAY_MS = 1500;
const RETRY_MS = 2000;
const TARGET = 'dali_lab.session';
/** Imports without a trace in the person's names or history. */
const IMPORT = `__import__("dali_lab.studio.jupyter")`;

export interface Start extends JSONObject {
  document: JSONObject;
  title: string;
  read_only: boolean;
}

export interface State {
  status: ConnectionStatus;
  detail?: string | undefined;
  /** What a person can do about it. */
  remedy?: 'choose' | 'restart' | undefined;
  died?: boolean;
}

export interface Hooks {
  /** What a new session begins with. */
  start(): GraphDocument;
  title(): string;
  readOnly(): boolean;
  /** Requests that the host answers itself, such as to save; undefined leaves them to the session. */
  answer(request: Request): Promise<unknown> | undefined;
  /** Rewrites what comes from the session. */
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
  /** What was lost since the session was there. */
  private lost: 'kernel' | 'server' | null = null;
  private kernelName: string | null = null;
  private away: ReturnType<typeof setTimeout> | null = null;
  private startingAgain = false;
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
    // Where there is nothing to choose from, it is said before anybody is asked to choose.
    void context.specsManager.ready.then(() => {
      if (!this.disposed && !context.session?.kernel && !this.hasPython) this.noKernel();
    });
    void this.connect();
  }

  send(message: Message): void {
    if (message.kind === 'request') {
      const answer = this.hooks.answer(message);
      if (answer) {
        const { id } = message;
        answer.then(
          (result) => this.deliver({ kind: 'response', id, result }),
          (error: unknown) =>
            this.deliver({
              kind: 'response',
              id,
              error: { message: error instanceof Error ? error.message : String(error), code: 'failed' },
            }),
        );
        return;
      }
    }
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
    if (this.startingAgain) this.context.shutdown().catch(() => undefined);
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

  /** Makes a session in the kernel that is there. */
  async connect(): Promise<void> {
    const kernel = this.context.session?.kernel;
    this.drop(true);
    const attempt = ++this.attempt;
    if (!kernel || this.disposed) return;
    this.hold();
    this.lost = null;
    this.kernelName = kernel.name;
    this.set({ status: 'connecting' });
    const failure = await prepare(kernel, this.trans);
    if (attempt !== this.attempt) return;
    if (failure !== null) {
      this.set({ status: 'disconnected', detail: failure, remedy: 'choose' });
      return;
    }
    const comm = new KernelComm(kernel, TARGET, {
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
    if (await comm.open(start)) this.set({ status: 'connected' });
  }

  private onKernel(_: unknown, { oldValue }: Session.ISessionConnection.IKernelChangedArgs): void {
    if (this.context.session?.kernel) void this.connect();
    else if (this.lost === 'server') {
      // Where none has gone, one is being started already.
      if (oldValue) void this.startAgain();
    } else {
      this.drop(false);
      this.noKernel();
    }
  }

  /**
   * The server went away and took the kernel along: one like it goes on as soon as the server is back.
   * Changing the kernel tells of kernels that go and come, so this must not begin a second time meanwhile.
   */
  private async startAgain(): Promise<void> {
    if (this.startingAgain) return;
    this.startingAgain = true;
    const waits = (): boolean =>
      this.lost === 'server' && !this.leaving && !this.disposed && !this.context.session?.kernel;
    try {
      while (waits()) {
        await this.context.changeKernel({ name: this.kernelName ?? 'python3' }).catch(() => undefined);
        if (waits()) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    } finally {
      this.startingAgain = false;
    }
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
    } else if (status === 'dead' && this.lost === 'server') {
      // The server is back, without this kernel: its list of sessions says so, and the session ends.
      this.context.sessionManager.refreshRunning().catch(() => undefined);
    } else if (status === 'dead' || status === 'terminating') {
      this.lose({
        status: 'disconnected',
        detail: this.trans.__('The kernel died. The graph is kept.'),
        remedy: 'restart',
      });
    } else if (this.lost && (status === 'idle' || status === 'starting')) {
      void this.connect();
    }
  }

  private onConnection(_: unknown, status: Kernel.ConnectionStatus): void {
    this.hold();
    if (status === 'connected') {
      if (this.lost) void this.connect();
    } else if (!this.lost) {
      // A short break is no news; during a longer one the canvas says so and keeps what is drawn.
      this.away = setTimeout(() => this.loseServer(), status === 'disconnected' ? 0 : AWAY_MS);
    } else if (status === 'disconnected') {
      this.away = setTimeout(() => this.reach(), RETRY_MS);
    }
  }

  /** Stops waiting for what follows from a broken connection. */
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
    this.reach();
  }

  /** Connects again where JupyterLab has given up. */
  private reach(): void {
    const kernel = this.context.session?.kernel;
    if (this.lost !== 'server' || !kernel || kernel.isDisposed) return;
    if (kernel.connectionStatus === 'disconnected') kernel.reconnect().catch(() => undefined);
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

  /** Lets go of the comm; with `tell`, the kernel hears of it. */
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

/** What the kernel says of itself; rejects when it goes before that. */
function known(kernel: Kernel.IKernelConnection): Promise<KernelMessage.IInfoReply> {
  // JupyterLab asks when it has connected, and once.
  let first = true;
  return answered(async () => {
    if (kernel.isDisposed) throw new Error('The kernel is gone.');
    if (!first) kernel.requestKernelInfo().catch(() => undefined);
    first = false;
    return kernel.info;
  });
}

/**
 * Imports the kernel's side; a sentence when that cannot be.
 *
 * An answer counts when all of its messages have come: what the session says then arrives, too.
 */
async function prepare(kernel: Kernel.IKernelConnection, trans: TranslationBundle): Promise<string | null> {
  const { language_info: language } = await known(kernel).catch(() => ({ language_info: { name: '' } }));
  if (language.name !== 'python')
    return language.name
      ? trans.__('Pipelines run in a Python kernel; this one is for %1.', language.name)
      : trans.__('The kernel did not answer.');
  const load = { code: IMPORT, silent: true, store_history: false, stop_on_error: false };
  const reply = await answered(() => kernel.requestExecute(load).done).catch(() => null);
  if (!reply) return trans.__('The kernel did not answer.');
  const { content } = reply;
  if (content.status === 'ok') return null;
  if (content.status !== 'error') return trans.__('The kernel was interrupted before it was ready.');
  return /No module named .dali_lab/.test(content.evalue)
    ? trans.__('dali_lab is not installed in this kernel: run "pip install dali-lab" in its environment.')
    : trans.__('The kernel could not load dali_lab: %1: %2', content.ename, content.evalue);
}
