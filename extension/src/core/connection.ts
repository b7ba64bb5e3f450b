/** Requests and responses over a transport; notices when the session does not answer, and when messages were lost. */
import { Observable } from './observable';
import type {
  Bytes,
  ConnectionStatus,
  Consent,
  Message,
  Method,
  Parameters,
  Permission,
  ProgramPipeline,
  Result,
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
  readonly consent: Consent | undefined;
  readonly permission: Permission | undefined;

  constructor(error: SessionError) {
    super(error.message);
    this.node = error.node;
    this.argument = error.argument;
    this.detail = error.detail;
    this.code = error.code;
    this.pipelines = error.pipelines;
    this.consent = error.consent;
    this.permission = error.permission;
  }
}

export interface Answer<T> {
  result: T;
  buffers: Bytes[];
}

interface Pending {
  since: number;
  resolve: (answer: Answer<unknown>) => void;
  reject: (error: RequestError) => void;
  /** Sends it once more. */
  again: (() => void) | null;
}

export interface ConnectionState {
  status: ConnectionStatus;
  /** The transport is up, but the session has not answered for a while: it may be busy. */
  silent: boolean;
  detail?: string | undefined;
}

const QUIET_MS = 6000;
/** Time after which a message that others have overtaken counts as lost. */
const LATE_MS = 1500;

export class Connection {
  readonly state = new Observable<ConnectionState>({ status: 'connecting', silent: false });
  /** Identifies this editor among all that are on the session. */
  readonly client = randomId();
  private pending = new Map<string, Pending>();
  private count = 0;
  private lastHeard = Date.now();
  private waitingSince: number | null = null;
  private lastAsked = 0;
  /** The number of the session's next message; null until the first has come. */
  private next: number | null = null;
  /** Numbers of messages that others have overtaken. */
  private missing = new Set<number>();
  private late: ReturnType<typeof setTimeout> | null = null;
  private stops: (() => void)[];
  private listeners = new Set<(event: SessionEvent, buffers: Bytes[]) => void>();

  constructor(private transport: Transport) {
    const timer = setInterval(() => this.watch(), 2000);
    this.stops = [
      transport.onMessage((message, buffers) => this.receive(message, buffers)),
      transport.onStatus((status, detail) => this.setStatus(status, detail)),
      () => clearInterval(timer),
      () => this.forgetNumbers(),
    ];
  }

  onEvent(listener: (event: SessionEvent, buffers: Bytes[]) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /** Asks the person for a permission that a request lacks; whether it was given. */
  onLacking: ((permission: Permission) => Promise<boolean>) | null = null;

  /** Sends a request; one that lacks a permission is sent again once the person gives it. */
  request<M extends Method>(method: M, ...given: Parameters<M>): Promise<Answer<Result<M>>> {
    const [params = {}] = given as [unknown?];
    return new Promise<Answer<unknown>>((resolve, reject) => {
      const again = (): void => this.send(method, params, { resolve, reject, again: null });
      this.send(method, params, { resolve, reject, again });
    }) as Promise<Answer<Result<M>>>;
  }

  private send(method: string, params: unknown, pending: Omit<Pending, 'since'>): void {
    const id = `${this.client}-${++this.count}`;
    this.pending.set(id, { since: Date.now(), ...pending });
    this.waitingSince ??= Date.now();
    try {
      this.transport.send({ kind: 'request', id, method, params });
    } catch (error) {
      this.pending.delete(id);
      this.setStatus('disconnected', (error as Error).message);
      pending.reject(
        new RequestError({ message: t('The session cannot be reached.'), code: 'disconnected' }),
      );
    }
  }

  private refuse(error: RequestError, { again, reject }: Pending): void {
    if (!error.permission || !this.onLacking || !again) {
      reject(error);
      return;
    }
    this.onLacking(error.permission).then((given) => (given ? again() : reject(error)), reject);
  }

  async call<M extends Method>(method: M, ...params: Parameters<M>): Promise<Result<M>> {
    return (await this.request(method, ...params)).result;
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
    if (message.kind !== 'request' && message.number !== undefined) this.note(message.number);
    if (message.kind === 'event') {
      for (const listener of [...this.listeners]) listener(message, buffers);
    } else if (message.kind === 'response') {
      const pending = this.pending.get(String(message.id));
      if (!pending) return;
      this.pending.delete(String(message.id));
      this.waitingSince = this.pending.size > 0 ? Date.now() : null;
      if (message.error) this.refuse(new RequestError(message.error), pending);
      else pending.resolve({ result: message.result, buffers });
    }
  }

  /** Notes the number of a message; messages that it has overtaken may still come. */
  private note(number: number): void {
    if (this.missing.delete(number)) return;
    if (this.next !== null)
      for (let lost = this.next; lost < number && this.missing.size < 100; lost++) this.missing.add(lost);
    this.next = Math.max(number + 1, this.next ?? 0);
    if (this.missing.size === 0 || this.late !== null) return;
    this.late = setTimeout(() => {
      this.late = null;
      if (this.missing.size > 0) this.beginAnew();
    }, LATE_MS);
  }

  private forgetNumbers(): void {
    if (this.late !== null) clearTimeout(this.late);
    this.late = null;
    this.next = null;
    this.missing.clear();
  }

  /** Recovers from lost messages as from a break: greets the session, sends missing edits, and asks for everything. */
  private beginAnew(): void {
    if (this.state.get().status !== 'connected') return;
    this.setStatus('disconnected');
    this.setStatus('connected');
  }

  private setStatus(status: ConnectionStatus, detail?: string): void {
    const before = this.state.get().status;
    if (before !== status) this.forgetNumbers();
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
    const silent = this.waitingSince !== null && now - Math.max(this.waitingSince, this.lastHeard) > QUIET_MS;
    if (silent && !state.silent) this.state.set({ ...state, silent });
    const [oldest] = this.pending.values();
    const since = Math.min(this.lastHeard, oldest?.since ?? now);
    if (now - Math.max(since, this.lastAsked) > QUIET_MS) void this.inquire();
  }

  /** Asks whether the session is alive and has received all requests. */
  private async inquire(): Promise<void> {
    this.lastAsked = Date.now();
    const before = [...this.pending.keys()];
    const pong = await this.call('ping').catch(() => undefined);
    // Answers come in the order of requests, except for requests that the session lists as pending.
    if (!pong) return;
    const waiting = new Set(pong.waiting);
    if (before.some((id) => this.pending.has(id) && !waiting.has(id))) this.beginAnew();
  }
}

function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return btoa(String.fromCharCode(...bytes)).replace(/[+/]/g, '0');
}
