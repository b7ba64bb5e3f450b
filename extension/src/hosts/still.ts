/** The picture of a graph for where no kernel answers: an image, in which no script can run. */
import { t } from '../core/language';
import type { Transport } from '../core/protocol';

/** A figure with an SVG drawing and a line under it. */
export function stillPicture(svg: string, words: string): HTMLElement {
  const figure = document.createElement('figure');
  figure.className = 'dali-lab-still';
  figure.style.cssText = 'margin:0;padding:8px;background:#fff;color:#1b2430;overflow:auto;';
  const image = document.createElement('img');
  image.alt = 'The graph';
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  image.style.cssText = 'display:block;max-width:100%;';
  const caption = document.createElement('figcaption');
  caption.textContent = words;
  caption.style.cssText = 'margin-top:6px;font:12px/16px system-ui,sans-serif;color:#5a6675;';
  figure.append(image, caption);
  return figure;
}

/**
 * Covers the content of `element` with a picture until the session's first message, which never comes where no kernel
 * runs. Returns the transport that notices it, and a function that removes the cover.
 */
export function coverUntilAnswered(
  element: HTMLElement,
  svg: unknown,
  transport: Transport,
): { transport: Transport; uncover: () => void } {
  if (typeof svg !== 'string' || svg === '') return { transport, uncover: () => undefined };
  const cover = stillPicture(svg, t('The graph as it was. Run the cell to edit it.'));
  cover.style.cssText += 'position:absolute;inset:0;z-index:1;';
  element.style.position = 'relative';
  element.append(cover);
  const onMessage: Transport['onMessage'] = (listener) =>
    transport.onMessage((message, buffers) => {
      cover.remove();
      listener(message, buffers);
    });
  return { transport: { ...transport, onMessage }, uncover: () => cover.remove() };
}

/** DOM event that an editor in a notebook fires when its picture has changed; the detail is the SVG. */
export const PICTURE_EVENT = 'dali-lab-picture';
