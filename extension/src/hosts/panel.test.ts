import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { panelTransport, type PanelModel } from './panel';

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
