/** A stub of the session for tests: answers at once, and loses, delays or drops messages on request. */
import { inject } from 'vitest';
import { apply, type Changes } from '../src/core/changes';
import type { GraphDocument } from '../src/core/document';
import type {
  Bytes,
  Capabilities,
  ConnectionStatus,
  Message,
  Request,
  SessionError,
  Transport,
} from '../src/core/protocol';
import { photographs } from './graphs';

export class StubSession implements Transport {
  readonly requests: Request[] = [];
  id = 'one';
  capabilities: Capabilities = {};
  revision = 1;
  up = true;
  /** Requests of these methods fail. */
  refused = new Map<string, SessionError>();
  /** Responses of these methods wait. */
  held = new Set<string>();
  /** Requests of these methods never arrive. */
  lost = new Set<string>();
  /** Drops all messages of the session. */
  deaf = false;
  private number = 0;
  private waiting: string[] = [];
  private listener: (message: Message, buffers: Bytes[]) => void = () => undefined;
  private status: (status: ConnectionStatus) => void = () => undefined;

  constructor(public document: GraphDocument = photographs()) {}

  send(message: Message): void {
    if (!this.up) throw new Error('down');
    const request = JSON.parse(JSON.stringify(message)) as Request;
    this.requests.push(request);
    if (this.lost.has(request.method)) return;
    if (this.held.has(request.method)) this.waiting.push(String(request.id));
    else queueMicrotask(() => this.respond(request));
  }

  private respond(request: Request): void {
    const number = this.number++;
    const error = this.refused.get(request.method);
    const answer = error ? { error } : { result: this.answer(request) };
    if (!this.deaf) this.listener({ kind: 'response', id: request.id, ...answer, number }, []);
  }

  answer({ method, params }: Request): unknown {
    const given = params as { changes: Changes; document: GraphDocument };
    if (method === 'ping') return { waiting: this.waiting };
    if (method === 'catalogue') return inject('catalogue');
    if (method === 'edit') {
      this.document = apply(this.document, given.changes);
      return { revision: ++this.revision };
    }
    if (method === 'restore') this.document = given.document;
    return {
      protocol: 1,
      session: this.id,
      version: '0',
      document: this.document,
      revision: this.revision,
      read_only: false,
      title: 't',
      file: null,
      dirty: false,
      capabilities: this.capabilities,
    };
  }

  onMessage(listener: (message: Message, buffers: Bytes[]) => void): () => void {
    this.listener = listener;
    return () => undefined;
  }

  onStatus(listener: (status: ConnectionStatus) => void): () => void {
    this.status = listener;
    listener('connected');
    return () => undefined;
  }

  dispose(): void {
    this.listener = () => undefined;
  }

  pull(up: boolean): void {
    this.up = up;
    this.status(up ? 'connected' : 'disconnected');
  }

  event(event: string, params: unknown, buffers: ArrayBuffer[] = []): void {
    const number = this.number++;
    if (!this.deaf) this.listener({ kind: 'event', event, params, number } as Message, buffers);
  }

  /** Two events, of which the second overtakes the first. */
  overtake(first: string, second: string): void {
    const number = this.number++;
    this.event(second, {});
    this.listener({ kind: 'event', event: first, params: {}, number } as Message, []);
  }

  count(method: string): number {
    return this.requests.filter((request) => request.method === method).length;
  }

  last(method: string): Record<string, unknown> {
    return this.requests.filter((request) => request.method === method).at(-1)?.params as Record<
      string,
      unknown
    >;
  }
}
