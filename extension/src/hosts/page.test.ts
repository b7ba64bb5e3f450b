import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Message } from '../core/protocol';
import { PageSocket, unpack } from './page';

class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 0;
  sent: string[] = [];
  onopen = (): void => undefined;
  onclose = (): void => undefined;
  onmessage: (event: { data: ArrayBuffer }) => void = () => undefined;

  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }

  send(text: string): void {
    this.sent.push(text);
  }

  begin(): void {
    this.readyState = 1;
    this.onopen();
  }

  end(): void {
    this.readyState = 3;
    this.onclose();
  }
}

let answer: number | null;

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.all = [];
  answer = null;
  vi.stubGlobal('WebSocket', FakeSocket);
  vi.stubGlobal('location', { href: 'http://127.0.0.1/' });
  vi.stubGlobal('fetch', () =>
    answer === null ? Promise.reject(new TypeError()) : Promise.resolve({ status: answer }),
  );
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const last = (): FakeSocket => {
  const found = FakeSocket.all.at(-1);
  if (!found) throw new Error('there is no socket');
  return found;
};
const request: Message = { kind: 'request', id: '1', method: 'ping', params: {} };

function frame(pane: number, message: unknown, buffers: number[][] = []): ArrayBuffer {
  const head = new TextEncoder().encode(
    JSON.stringify({ pane, sizes: buffers.map(({ length }) => length), message }),
  );
  const size = new Uint8Array(new Uint32Array([head.length]).buffer);
  return Uint8Array.from([...size, ...head, ...buffers.flat()]).buffer;
}

it('gives each message its own buffers', () => {
  const { message, buffers } = unpack(frame(0, 'Grüße', [[1], [], [2, 3]]));
  expect(message).toBe('Grüße');
  const bytes = buffers.map((each) => {
    const { buffer, byteOffset, byteLength } = each as DataView;
    return [...new Uint8Array(buffer, byteOffset, byteLength)];
  });
  expect(bytes).toEqual([[1], [], [2, 3]]);
});

it('brings each pane its own messages', () => {
  const socket = new PageSocket('ws://127.0.0.1/socket');
  const heard: [number, unknown][] = [];
  const panes = [0, 1].map((pane) => socket.transport(pane));
  panes.forEach((transport, pane) => transport.onMessage((message) => heard.push([pane, message])));
  last().begin();
  panes[1]?.send(request);
  expect(last().sent).toEqual([JSON.stringify({ pane: 1, message: request })]);
  last().onmessage({ data: frame(1, 'b') });
  last().onmessage({ data: frame(0, 'a') });
  panes[1]?.dispose();
  last().onmessage({ data: frame(1, 'c') });
  expect(heard).toEqual([
    [1, 'b'],
    [0, 'a'],
  ]);
});

it('connects again, and says when the app refuses the page, as one that was started again does', async () => {
  const socket = new PageSocket('ws://127.0.0.1/socket');
  const transport = socket.transport(0);
  const states: [string, string | undefined][] = [];
  transport.onStatus((status, detail) => states.push([status, detail]));
  expect(() => transport.send(request)).toThrow();
  last().begin();
  expect(states).toEqual([
    ['connecting', undefined],
    ['connected', undefined],
  ]);
  last().end();
  expect(() => transport.send(request)).toThrow();
  await vi.advanceTimersByTimeAsync(1500);
  expect(FakeSocket.all).toHaveLength(2);
  answer = 403;
  last().end();
  await vi.advanceTimersByTimeAsync(1500);
  expect(states.at(-1)).toEqual(['disconnected', expect.stringContaining('started again')]);
  expect(FakeSocket.all).toHaveLength(3);
  answer = 200;
  last().end();
  last().begin();
  await vi.advanceTimersByTimeAsync(100);
  expect(states.at(-1), 'a late answer about the last connection').toEqual(['connected', undefined]);
});
