/** Follows the theme of the host: JupyterLab's variables, else the system's wish. */

export type Theme = 'light' | 'dark';

/** The host's colour of panels, where it is JupyterLab; asked of the page, as an editor may not be in it yet. */
function hostColour(): string {
  return getComputedStyle(document.body).getPropertyValue('--jp-layout-color1').trim();
}

/** Whether the host gives JupyterLab's colours. */
export function hasHostTheme(): boolean {
  return hostColour() !== '';
}

/** The lightness of any CSS colour, from 0 to 1. */
function lightness(colour: string): number | null {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const context = canvas.getContext('2d');
  if (!context) return null;
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [r = 0, g = 0, b = 0] = context.getImageData(0, 0, 1, 1).data;
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}

export function hostTheme(): Theme {
  const colour = hostColour();
  if (colour !== '') return (lightness(colour) ?? 1) < 0.5 ? 'dark' : 'light';
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

/** Calls back when the host's theme may have changed. */
export function watchHostTheme(listener: (theme: Theme) => void): () => void {
  const update = (): void => listener(hostTheme());
  const observer = new MutationObserver(() => setTimeout(update, 50));
  for (const target of [document.documentElement, document.body]) {
    observer.observe(target, {
      attributes: true,
      attributeFilter: ['class', 'style', 'data-jp-theme-light', 'data-jp-theme-name', 'data-theme'],
    });
  }
  const media = matchMedia('(prefers-color-scheme: dark)');
  media.addEventListener('change', update);
  return () => {
    observer.disconnect();
    media.removeEventListener('change', update);
  };
}
