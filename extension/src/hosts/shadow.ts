/** The element that an editor or a gallery is drawn in: with a shadow root, so that neither it nor the page styles the other. */

/** The text of all style sheets that components import; the build puts it here. */
declare const STYLES: string;

export function makeHost(
  element: HTMLElement,
  name: string,
  height = '100%',
): { host: HTMLElement; container: HTMLElement } {
  const host = document.createElement('div');
  host.className = name;
  host.style.cssText = `display:block;position:relative;width:100%;height:${height};min-height:240px;`;
  host.dataset['lmSuppressShortcuts'] = 'true';
  const sheet = document.createElement('style');
  sheet.textContent = STYLES;
  const container = document.createElement('div');
  container.className = 'container';
  host.attachShadow({ mode: 'open' }).append(sheet, container);
  element.append(host);
  return { host, container };
}
