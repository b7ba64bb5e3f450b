/** Requests and responses over a transport; notices when the session does not answer any more. */
import { Observable } from './observable';
import type {
  Bytes,
  ConnectionStatus,
  Message,
  ProgramPipeline,
  SessionError,
  SessionEvent,
  Transport,
} from './protocol';
import { t } from './language';

export class RequestError extends Error {
  readonly node: string | undefined;
  readonly argument: string | undefined;
  readonly detail: string | undefined;
  readonly code: string | undefined;
  readonly pipelines: ProgramPipeline[] | undefined;

  constructor(error: SessionError) {
    super(error.message);
    this.node = error.node;
    this.argument = error.argument;
    this.detail = error.detail;
    this.code = error.code;
    this.pipelines = error.pipelines;
  }
}

export interface Answer<T> {
  result: T;
  buffers: Bytes[];
}

interface Pending {
  resolve: (answer: Answer<unknown>) => void;
  reject: (error: RequestError) => void;
}

export interface ConnectionState {
  status: ConnectionStatus;
  /** The transport is up, but the session has not answered for a while: it may be busy. */
  silent: boolean;
  detail?: string | undefined;
}

const QUIET_MS = 6000;

export class Connection {
  readonly state = new Observable<ConnectionState>({ status: 'connecting', silent: false });
  /** Identifies this editor among all that are on the session. */
  readonly client = randomId();
  private pending = new Map<string, Pending>();
  private count = 0;
  private lastHeard = Date.now();
  private waitingSince: number | null = null;
  private stops: (() => void)[];
  private listeners = new Set<(event: SessionEvent, buffers: Bytes[]) => void>();

  constructor(private transport: Transport) {
    const timer = setInterval(() => this.watch(), 2000);
    this.stops = [
      transport.onMessage((message, buffers) => this.receive(message, buffers)),
      transport.onStatus((status, detail) => this.setStatus(status, detail)),
      () => clearInterval(timer),
    ];
  }

  onEvent(listener: (event: SessionEvent, buffers: Bytes[]) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  request<T>(method: string, params: unknown = {}): Promise<Answer<T>> {
    const id = `${this.client}-${++this.count}`;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve: resolve as Pending['resolve'], reject });
      this.waitingSince ??= Date.now();
      try {
        this.transport.send({ kind: 'request', id, method, params });
      } catch (error) {
        this.pending.delete(id);
        this.setStatus('disconnected', (error as Error).message);
        reject(new RequestError({ message: t('The session cannot be reached.'), code: 'disconnected' }));
      }
    });
  }

  async call<T>(method: string, params: unknown = {}): Promise<T> {
    return (await this.request<T>(method, params)).result;
  }

  dispose(): void {
    for (const stop of this.stops) stop();
    this.failPending(t('The editor was closed.'));
    this.transport.dispose();
  }

  private receive(message: Message, buffers: Bytes[]): void {
    this.lastHeard = Date.now();
    const state = this.state.get();
    if (state.silent) this.state.set({ ...state, silent: false });
    if (message.kind === 'event') {
      for (const listener of [...this.listeners]) listener(message, buffers);
    } else if (message.kind === 'response') {
      const pending = this.pending.get(String(message.id));
      if (!pending) return;
      this.pending.delete(String(message.id));
      this.waitingSince = this.pending.size > 0 ? Date.now() : null;
      if (message.error) pending.reject(new RequestError(message.error));
      else pending.resolve({ result: message.result, buffers });
    }
  }

  private setStatus(status: ConnectionStatus, detail?: string): void {
    const before = this.state.get().status;
    if (status === 'disconnected') this.failPending(t('The session cannot be reached.'));
    if (before !== status || detail !== this.state.get().detail) {
      this.state.set({ status, silent: false, detail });
    }
  }

  private failPending(message: string): void {
    const pending = [...this.pending.values()];
    this.pending.clear();
    this.waitingSince = null;
    for (const { reject } of pending) reject(new RequestError({ message, code: 'disconnected' }));
  }

  private watch(): void {
    const state = this.state.get();
    if (state.status !== 'connected') return;
    const now = Date.now();
    if (this.waitingSince !== null && now - Math.max(this.waitingSince, this.lastHeard) > QUIET_MS) {
      if (!state.silent) this.state.set({ ...state, silent: true });
    } else if (this.waitingSince === null && now - this.lastHeard > QUIET_MS) {
      this.call('ping').catch(() => undefined);
    }
  }
}

export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return btoa(String.fromCharCode(...bytes)).replace(/[+/]/g, '0');
}
