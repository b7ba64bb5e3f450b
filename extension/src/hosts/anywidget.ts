/** The notebook host: anywidget's model carries JSON messages with binary buffers. */
import type { Bytes, Message, Transport } from '../core/protocol';
import { COMPACT, mount, type MountOptions } from './mount';
import { coverUntilAnswered, PICTURE_EVENT } from './still';
import { t } from '../core/language';

export interface WidgetModel {
  get(name: string): unknown;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, listener: (...parameters: never[]) => void): void;
  off(event: string, listener?: (...parameters: never[]) => void): void;
}

const kernelGone = (): string => t('The kernel was restarted or closed. Run the cell again.');

export function widgetTransport(model: WidgetModel): Transport {
  const listeners: [string, (...parameters: never[]) => void][] = [];
  const listen = (event: string, listener: (...parameters: never[]) => void): (() => void) => {
    model.on(event, listener);
    listeners.push([event, listener]);
    return () => model.off(event, listener);
  };
  return {
    send: (message, buffers) => {
      try {
        model.send(message, undefined, buffers);
      } catch {
        throw new Error(kernelGone());
      }
    },
    onMessage: (listener) =>
      listen('msg:custom', (content: Message, buffers?: Bytes[]) => listener(content, buffers ?? [])),
    onStatus: (listener) => {
      listener('connected');
      let timer: ReturnType<typeof setTimeout> | null = null;
      // The event comes when the kernel goes, just before nothing can be sent any more, and when it is there again:
      // the greeting of the session tells which.
      const greet = (): void => {
        timer ??= setTimeout(() => {
          timer = null;
          listener('connecting');
          listener('connected');
        });
      };
      const stops = [
        listen('comm:close', () => listener('disconnected', kernelGone())),
        listen('comm_live_update', greet),
      ];
      return () => {
        if (timer !== null) clearTimeout(timer);
        for (const stop of stops) stop();
      };
    },
    dispose: () => {
      for (const [event, listener] of listeners) model.off(event, listener);
    },
  };
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/**
 * In a row of widgets an element is as wide as its content, and an editor has no width of its own. It is given by logical
 * properties, as the widget's layout, which comes later, takes away each other one that the person has not set.
 */
function widen({ style }: HTMLElement): void {
  if (style.width === '') style.inlineSize = '100%';
  if (style.minWidth === '') style.minInlineSize = 'min(320px, 100%)';
}

export function renderWidget(model: WidgetModel, element: HTMLElement): () => void {
  widen(element);
  const height = model.get('height');
  const options: MountOptions = {
    height: typeof height === 'number' ? `${height}px` : (text(height) ?? '640px'),
    ...COMPACT,
    theme: (text(model.get('theme')) ?? 'auto') as MountOptions['theme'] & string,
  };
  const picture = (): string | undefined => text(model.get('picture'));
  const { transport, uncover } = coverUntilAnswered(element, picture(), widgetTransport(model));
  const tell = (): void => {
    element.dispatchEvent(
      new CustomEvent(PICTURE_EVENT, { bubbles: true, composed: true, detail: picture() }),
    );
  };
  model.on('change:picture', tell);
  const handle = mount(element, transport, options);
  return () => {
    model.off('change:picture', tell);
    uncover();
    handle.dispose();
  };
}
