/** The app's own page: messages go over a websocket, a frame each, with their bytes behind them. */
import type { Bytes, ConnectionStatus, Message, Transport } from '../core/protocol';
import { t } from '../core/language';
import { Panes } from './panes';

/** The first part of a frame, before its bytes. */
interface Head {
  /** The editor of the page that the message is for. */
  pane: number;
  /** The size of each buffer. */
  sizes: number[];
  message: Message;
}

/** Time before the first attempt to connect again, and the longest before a later one. */
const RETRY_MS = 500;
const LONGEST_RETRY_MS = 5000;

/** An app that was started again has other keys: it answers, and refuses pages of the one before. */
function strange(): string {
  return t(
    'DALI Lab was started again: open the address that it printed. Copy and paste takes what is here along.',
  );
}

const decoder = new TextDecoder();

/** A frame's head, and its buffers, which share the frame's memory. */
export function unpack(frame: ArrayBuffer): Head & { buffers: Bytes[] } {
  const size = new DataView(frame).getUint32(0, true);
  const head = JSON.parse(decoder.decode(new Uint8Array(frame, 4, size))) as Head;
  let at = 4 + size;
  const buffers = head.sizes.map((length) => {
    at += length;
    return new DataView(frame, at - length, length);
  });
  return { ...head, buffers };
}

/** The websocket of a page, which connects again when it is lost; each pane has a transport over it. */
export class PageSocket {
  private socket!: WebSocket;
  private status: ConnectionStatus = 'connecting';
  private detail: string | undefined;
  private retry = RETRY_MS;
  private readonly listeners = new Set<(head: Head, buffers: Bytes[]) => void>();
  private readonly watchers = new Set<(status: ConnectionStatus, detail?: string) => void>();

  constructor(private readonly url: string) {
    this.connect();
  }

  transport(pane: number): Transport {
    const stops: (() => void)[] = [];
    const kept = <L>(set: Set<L>, listener: L): (() => void) => {
      set.add(listener);
      const stop = (): void => void set.delete(listener);
      stops.push(stop);
      return stop;
    };
    return {
      send: (message) => {
        if (this.status !== 'connected') throw new Error(this.detail ?? t('The session cannot be reached.'));
        this.socket.send(JSON.stringify({ pane, message }));
      },
      onMessage: (listener) =>
        kept(this.listeners, (head, buffers) => {
          if (head.pane === pane) listener(head.message, buffers);
        }),
      onStatus: (listener) => {
        listener(this.status, this.detail);
        return kept(this.watchers, listener);
      },
      dispose: () => stops.forEach((stop) => stop()),
    };
  }

  private connect(): void {
    const socket = new WebSocket(this.url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.retry = RETRY_MS;
      this.tell('connected');
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      const { buffers, ...head } = unpack(data);
      for (const listener of [...this.listeners]) listener(head, buffers);
    };
    socket.onclose = () => {
      this.tell('disconnected', this.detail);
      fetch(location.href, { method: 'HEAD', cache: 'no-store' }).then(
        ({ status }) => this.tell('disconnected', status === 403 ? strange() : undefined),
        () => this.tell('disconnected'),
      );
      setTimeout(() => this.connect(), this.retry);
      this.retry = Math.min(2 * this.retry, LONGEST_RETRY_MS);
    };
    this.socket = socket;
  }

  private tell(status: ConnectionStatus, detail?: string): void {
    // An answer about a connection that was lost may come after the next one has opened.
    if (status === 'disconnected' && this.socket.readyState === WebSocket.OPEN) return;
    this.status = status;
    this.detail = detail;
    for (const watcher of [...this.watchers]) watcher(status, detail);
  }
}

/** Shows the editor in a page; its websocket lies beside the page's address. */
export function showPage(element: HTMLElement, options: { view?: 'editor' | 'gallery' } = {}): void {
  const url = new URL('socket', location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const socket = new PageSocket(url.href);
  new Panes(element, socket.transport(0), options, () => socket.transport(1));
}
