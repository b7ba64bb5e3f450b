/** The Panel host: messages travel as JSON text with byte strings beside, which Bokeh sends as binary. */
import type { Bytes, Message, Transport } from '../core/protocol';
import { t } from '../core/language';
import { COMPACT, mount, type Handle } from './mount';
import { coverUntilAnswered } from './still';

/** What Bokeh tells of its socket; `timeout` is null where it does not connect again by itself. */
interface BokehEvent {
  timeout?: number | null;
  reconnect?(): void;
}

type BokehListener = (document: unknown, event?: BokehEvent) => void;

interface BokehDocument {
  on_event?(name: string, listener: BokehListener): void;
  remove_on_event?(name: string, listener: BokehListener): void;
}

const RETRY_MS = 2000;

export interface PanelModel {
  send_msg(data: unknown): void;
  on(event: string, listener: (parameter: never) => void): void;
  off(event: string, listener: (parameter: never) => void): void;
  document?: BokehDocument | null;
  theme?: unknown;
  view?: unknown;
  compact?: unknown;
  picture?: unknown;
}

interface Packet {
  message: string;
  buffers?: unknown[];
}

function bytesOf(buffer: unknown): Bytes {
  if (buffer instanceof ArrayBuffer || buffer instanceof DataView) return buffer;
  if (ArrayBuffer.isView(buffer)) return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  return new ArrayBuffer(0);
}

export function panelTransport(model: PanelModel): Transport {
  const stops: (() => void)[] = [];
  return {
    send: (message, buffers = []) => model.send_msg({ message: JSON.stringify(message), buffers }),
    onMessage: (listener) => {
      const receive = (data: Packet): void =>
        listener(JSON.parse(data.message) as Message, (data.buffers ?? []).map(bytesOf));
      model.on('msg:custom', receive);
      const stop = (): void => model.off('msg:custom', receive);
      stops.push(stop);
      return stop;
    },
    onStatus: (listener) => {
      listener('connected');
      // Bokeh tells of its socket by events of its document.
      const page = model.document;
      const lost: BokehListener = (_, event) => {
        listener('disconnected', t('The server cannot be reached.'));
        // Each attempt that fails is told as another loss.
        if (event?.timeout == null) setTimeout(() => event?.reconnect?.(), RETRY_MS);
      };
      const back = (): void => listener('connected');
      page?.on_event?.('connection_lost', lost);
      page?.on_event?.('client_reconnected', back);
      const stop = (): void => {
        page?.remove_on_event?.('connection_lost', lost);
        page?.remove_on_event?.('client_reconnected', back);
      };
      stops.push(stop);
      return stop;
    },
    dispose: () => {
      for (const stop of stops) stop();
    },
  };
}

const handles = new WeakMap<object, Handle>();

export function renderPanel(model: PanelModel, element: HTMLElement): void {
  // Panel calls again for the same element when it draws anew.
  handles.get(element)?.dispose();
  element.style.cssText += 'width:100%;height:100%;';
  const theme = model.theme;
  const { transport, uncover } = coverUntilAnswered(element, model.picture, panelTransport(model));
  const handle = mount(element, transport, {
    theme: theme === 'light' || theme === 'dark' ? theme : 'auto',
    view: model.view === 'gallery' ? 'gallery' : 'editor',
    ...(model.compact === true ? COMPACT : {}),
  });
  handles.set(element, handle);
  model.on('remove', () => {
    uncover();
    handle.dispose();
  });
}
