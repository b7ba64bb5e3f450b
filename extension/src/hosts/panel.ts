/** The Panel host: messages travel in packets, as JSON text with their bytes beside, which Bokeh sends as binary. */
import type { Bytes, ConnectionStatus, Message, Transport } from '../core/protocol';
import { COMPACT, mount, type Handle } from './mount';
import { coverUntilAnswered } from './still';

/** Bokeh's event about its socket; `timeout` is null where it does not reconnect by itself. */
interface BokehEvent {
  timeout?: number | null;
  reconnect?(): void;
  connection?: { deref(): { socket: { close(): void } | null } | undefined };
}

type BokehListener = (document: unknown, event?: BokehEvent) => void;

interface BokehDocument {
  on_event?(name: string, listener: BokehListener): void;
  remove_on_event?(name: string, listener: BokehListener): void;
}

const RETRY_MS = 2000;
/** Time after which a connection that is open, and over which Bokeh got no document, is given up for another one. */
const STUCK_MS = 30_000;

export interface PanelModel {
  send_msg(data: unknown): void;
  on(event: string, listener: (parameter: never) => void): void;
  off(event: string, listener: (parameter: never) => void): void;
  document?: BokehDocument | null;
  theme?: unknown;
  picture?: unknown;
}

/** Messages of the session that go together. */
interface Packet {
  /** A list as JSON. */
  messages: string;
  /** The sizes of each message's buffers, which lie one after the other in `bytes`. */
  sizes: number[][];
  bytes: ArrayBuffer | null;
}

/** Most messages in a packet to the session. */
const MOST_TOGETHER = 16;

/** A transport that goes over another model from now on: Bokeh makes its models anew when a connection is back. */
export interface PanelTransport extends Transport {
  moveTo(model: PanelModel): void;
}

export function panelTransport(first: PanelModel): PanelTransport {
  const listeners = new Set<(message: Message, buffers: Bytes[]) => void>();
  const watchers = new Set<(status: ConnectionStatus, detail?: string) => void>();
  const tell = (status: ConnectionStatus, detail?: string): void => {
    for (const watcher of [...watchers]) watcher(status, detail);
  };
  const receive = (packet: Packet): void => {
    const bytes = packet.bytes ?? new ArrayBuffer(0);
    let at = 0;
    for (const [index, message] of (JSON.parse(packet.messages) as Message[]).entries()) {
      const buffers = (packet.sizes[index] ?? []).map((size) => {
        at += size;
        return new DataView(bytes, at - size, size);
      });
      for (const listener of [...listeners]) listener(message, buffers);
    }
  };
  /** Messages of one moment go together: an edit, and the preview of what it made, which goes before the page draws. */
  let waiting: Message[] = [];
  const flush = (): void => {
    if (waiting.length > 0) model.send_msg({ messages: JSON.stringify(waiting) });
    waiting = [];
  };
  let stuck: ReturnType<typeof setTimeout> | undefined;
  // Bokeh reports the state of its socket by events of its document.
  const lost: BokehListener = (_, event) => {
    tell('disconnected');
    if (event?.timeout == null) setTimeout(() => event?.reconnect?.(), RETRY_MS);
    clearTimeout(stuck);
    // A socket that opens, and whose first messages are lost, is no loss to Bokeh: closed, it is one.
    const giveUp = (): void => event?.connection?.deref()?.socket?.close();
    stuck = setTimeout(giveUp, (event?.timeout ?? RETRY_MS) + STUCK_MS);
  };
  const back = (): void => {
    clearTimeout(stuck);
    tell('connected');
  };
  let model = first;
  const listen = (): (() => void) => {
    const page = model.document;
    const from = model;
    from.on('msg:custom', receive);
    page?.on_event?.('connection_lost', lost);
    page?.on_event?.('client_reconnected', back);
    return () => {
      from.off('msg:custom', receive);
      page?.remove_on_event?.('connection_lost', lost);
      page?.remove_on_event?.('client_reconnected', back);
    };
  };
  let stop = listen();
  return {
    send: (message) => {
      waiting.push(message);
      const asks = message.kind === 'request' && message.method === 'preview';
      if (asks || waiting.length === MOST_TOGETHER) flush();
      else if (waiting.length === 1) queueMicrotask(flush);
    },
    onMessage: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    onStatus: (watcher) => {
      watchers.add(watcher);
      watcher('connected');
      return () => void watchers.delete(watcher);
    },
    moveTo: (next) => {
      stop();
      model = next;
      stop = listen();
      // Requests over the old model since the connection is back were not answered.
      tell('disconnected');
      back();
    },
    dispose: () => {
      clearTimeout(stuck);
      stop();
    },
  };
}

interface Shown {
  handle: Handle;
  transport: PanelTransport;
  uncover: () => void;
}

const shownIn = new WeakMap<object, Shown>();
/** Editors whose models were lost with the connection; they keep unsent edits and wait for new models. */
const waiting: Shown[] = [];

export function renderPanel(model: PanelModel, element: HTMLElement): void {
  // Panel calls again for the same element when it draws anew.
  const before = shownIn.get(element);
  element.style.cssText += 'width:100%;height:100%;';
  const kept = waiting.shift();
  if (before !== kept) before?.handle.dispose();
  const shown = kept ?? begin(model, element);
  if (kept) {
    kept.handle.moveTo(element);
    kept.transport.moveTo(model);
  }
  shownIn.set(element, shown);
  model.on('remove', () => {
    shown.uncover();
    if (shown.handle.editor.connection.state.get().status === 'connected') shown.handle.dispose();
    else waiting.push(shown);
  });
}

function begin(model: PanelModel, element: HTMLElement): Shown {
  const transport = panelTransport(model);
  const covered = coverUntilAnswered(element, model.picture, transport);
  const theme = model.theme === 'light' || model.theme === 'dark' ? model.theme : 'auto';
  return {
    handle: mount(element, covered.transport, { ...COMPACT, theme }),
    transport,
    uncover: covered.uncover,
  };
}
