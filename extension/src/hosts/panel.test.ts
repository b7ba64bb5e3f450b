import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Message } from '../core/protocol';
import { panelTransport, type PanelModel, type PanelTransport } from './panel';

type Listener = Parameters<NonNullable<NonNullable<PanelModel['document']>['on_event']>>[1];

let listeners: Map<string, Listener>;
let closed: number;
let reconnects: number;
let states: string[];

const lose = (): void =>
  listeners.get('connection_lost')?.(null, {
    timeout: null,
    reconnect: () => reconnects++,
    connection: { deref: () => ({ socket: { close: () => closed++ } }) },
  });

beforeEach(() => {
  vi.useFakeTimers();
  listeners = new Map();
  closed = reconnects = 0;
  states = [];
  const document = {
    on_event: (name: string, listener: Listener) => void listeners.set(name, listener),
    remove_on_event: (name: string) => void listeners.delete(name),
  };
  const model: PanelModel = {
    send_msg: () => undefined,
    on: () => undefined,
    off: () => undefined,
    document,
  };
  panelTransport(model).onStatus((status) => states.push(status));
});

afterEach(() => {
  vi.useRealTimers();
});

it('connects again, and leaves a connection that is back alone', () => {
  lose();
  vi.advanceTimersByTime(3_000);
  expect(reconnects).toBe(1);
  listeners.get('client_reconnected')?.(null);
  vi.advanceTimersByTime(120_000);
  expect(states).toEqual(['connected', 'disconnected', 'connected']);
  expect(closed).toBe(0);
});

it('gives up a connection that opens and brings no document', () => {
  lose();
  vi.advanceTimersByTime(40_000);
  expect([reconnects, closed]).toEqual([1, 1]);
  // Bokeh reports the closed socket as another loss.
  lose();
  vi.advanceTimersByTime(3_000);
  expect(reconnects).toBe(2);
});

describe('packets', () => {
  type Receive = (packet: unknown) => void;

  const connected = (): { sent: unknown[]; transport: PanelTransport; receive: Receive } => {
    const sent: unknown[] = [];
    let receive: Receive = () => undefined;
    const model: PanelModel = {
      send_msg: (packet) => sent.push(packet),
      on: (_, listener) => (receive = listener as Receive),
      off: () => undefined,
    };
    return { sent, transport: panelTransport(model), receive: (packet) => receive(packet) };
  };
  const request = (id: number): Message => ({ kind: 'request', id: String(id), method: 'ping', params: {} });

  it('puts messages of one moment together, up to sixteen', async () => {
    const { sent, transport } = connected();
    for (let id = 0; id < 18; id++) transport.send(request(id));
    await Promise.resolve();
    transport.send(request(18));
    await Promise.resolve();
    const messages = sent.map((packet) => JSON.parse((packet as { messages: string }).messages) as Message[]);
    expect(messages.map(({ length }) => length)).toEqual([16, 2, 1]);
    expect(messages.flat()).toEqual(Array.from({ length: 19 }, (_, id) => request(id)));
  });

  it('sends a request for a preview at once, with the edit before it', async () => {
    const { sent, transport } = connected();
    const preview: Message = { kind: 'request', id: '2', method: 'preview', params: {} };
    transport.send(request(1));
    transport.send(preview);
    expect(sent).toEqual([{ messages: JSON.stringify([request(1), preview]) }]);
    await Promise.resolve();
    expect(sent).toHaveLength(1);
  });

  it('gives each message its own buffers', () => {
    const { transport, receive } = connected();
    const heard: [unknown, number[][]][] = [];
    transport.onMessage((message, buffers) =>
      heard.push([
        message,
        buffers.map((each) => {
          const { buffer, byteOffset, byteLength } = each as DataView;
          return [...new Uint8Array(buffer, byteOffset, byteLength)];
        }),
      ]),
    );
    const bytes = Uint8Array.of(1, 2, 3, 4).buffer;
    receive({ messages: '["a","b","c"]', sizes: [[1, 0, 2], [], [1]], bytes });
    receive({ messages: '["e"]', sizes: [[0]], bytes: null });
    expect(heard).toEqual([
      ['a', [[1], [], [2, 3]]],
      ['b', []],
      ['c', [[4]]],
      ['e', [[]]],
    ]);
  });
});
