/** The bars above the canvas that report problems of the text or the kernel, with actions to solve them. */

export interface Action {
  title: string;
  run: () => void;
}

export interface Bar {
  level: 'info' | 'warning' | 'error';
  text: string;
  actions: Action[];
}

export function makeBar(name: string): HTMLDivElement {
  const bar = document.createElement('div');
  bar.className = 'dali-document-bar';
  bar.dataset['bar'] = name;
  bar.setAttribute('role', 'status');
  bar.style.display = 'none';
  return bar;
}

/** Fills a bar, or hides it. */
export function showBar(element: HTMLElement, bar: Bar | null): void {
  element.hidden = bar === null;
  element.style.display = bar === null ? 'none' : '';
  if (!bar) {
    element.replaceChildren();
    return;
  }
  element.dataset['level'] = bar.level;
  const text = document.createElement('span');
  text.textContent = bar.text;
  const buttons = bar.actions.map(({ title, run }) => {
    const button = document.createElement('button');
    button.className = 'jp-Button jp-mod-styled jp-mod-minimal';
    button.textContent = title;
    button.addEventListener('click', run);
    return button;
  });
  element.replaceChildren(text, ...buttons);
}
