/** The picture of a graph for where no kernel answers: an image, in which no script can run. */

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

/** What an editor in a notebook tells its surroundings when its picture has changed; the detail is the SVG. */
export const PICTURE_EVENT = 'dali-lab-picture';
