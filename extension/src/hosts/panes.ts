/** The panes of a page: an editor, and beside it, if the person wants it, that of a second graph. */
import { besideEachOther } from '../core/beside';
import type { Editor } from '../core/editor';
import type { Transport } from '../core/protocol';
import { mount, type Handle, type MountOptions } from './mount';

export class Panes {
  private readonly frame = document.createElement('div');
  private readonly first: Handle;
  private second: { handle: Handle; pane: HTMLElement; stop: () => void } | null = null;
  /** Whether the inspector of the first pane was open before the second came. */
  private inspected = false;

  constructor(
    element: HTMLElement,
    transport: Transport,
    private readonly options: MountOptions,
    private readonly secondTransport: () => Transport,
  ) {
    this.frame.style.cssText = 'display:flex;width:100%;height:100%;';
    element.append(this.frame);
    this.first = this.mount(transport, options).handle;
  }

  private get editor(): Editor {
    return this.first.editor;
  }

  private mount(transport: Transport, options: MountOptions): { handle: Handle; pane: HTMLElement } {
    const pane = document.createElement('div');
    pane.style.cssText = 'flex:1 1 0;min-width:0;height:100%;';
    this.frame.append(pane);
    return { handle: mount(pane, transport, { ...options, host: { beside: () => this.toggle() } }), pane };
  }

  private toggle(): void {
    if (this.second) this.closeSecond();
    else {
      const { panels } = this.editor;
      this.inspected = panels.get().inspector;
      panels.patch({ inspector: false });
      const { handle, pane } = this.mount(this.secondTransport(), {
        ...this.options,
        view: 'editor',
        panels: { palette: false, inspector: false, minimap: false },
        storage: 'beside',
      });
      pane.dataset['pane'] = 'beside';
      pane.style.borderLeft = '4px solid #8a94a3';
      this.second = { handle, pane, stop: besideEachOther(this.editor, handle.editor) };
    }
  }

  private closeSecond(): void {
    if (!this.second) return;
    this.second.stop();
    this.second.handle.dispose();
    this.second.pane.remove();
    this.second = null;
    if (this.inspected) this.editor.panels.patch({ inspector: true });
  }
}
