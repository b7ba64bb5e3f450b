/** Editors in the cells of notebooks: the widget where its kernel runs, else the picture of the graph as it was. */
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { ISessionContext } from '@jupyterlab/apputils';
import type { IRenderMime, IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { Kernel } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { DisposableDelegate, type IDisposable } from '@lumino/disposable';
import { Panel, Widget } from '@lumino/widgets';
import { hideScripts, type NotebookModel } from '../../src/core/savedWidgets';
import { PICTURE_EVENT, stillPicture } from '../../src/hosts/still';

const MIME = 'application/vnd.dali-lab.editor+json';
const WIDGET = 'application/vnd.jupyter.widget-view+json';
const SVG = 'image/svg+xml';
const HTML = 'text/html';
/** Milliseconds after which a kernel that gave no answer is asked again. */
const RETRY = 500;

/** The members of a notebook panel that are used here. */
type NotebookLike = DocumentRegistry.IModel & { content: { rendermime: IRenderMimeRegistry } } & Widget;

/** Registers this renderer with every notebook, and keeps scripts of saved widgets out of those that are not trusted. */
export function showEditorsIn(registry: DocumentRegistry, trans: TranslationBundle): void {
  registry.addWidgetExtension('Notebook', {
    createNew: (panel: Widget, context: DocumentRegistry.Context): IDisposable => {
      hideScripts(context.model as unknown as NotebookModel);
      const { rendermime } = (panel as NotebookLike).content;
      rendermime.addFactory(
        {
          safe: false,
          mimeTypes: [MIME],
          createRenderer: (options) => new EditorOutput(options, rendermime, context.sessionContext, trans),
        },
        // Before the widget itself, which has -10.
        -20,
      );
      return new DisposableDelegate(() => rendermime.removeMimeType(MIME));
    },
  });
}

/** Whether the kernel has the widget of this id; a kernel that is busy with the cell that made it need not be asked. */
async function lives(kernel: Kernel.IKernelConnection | null | undefined, id: string): Promise<boolean> {
  if (!kernel) return false;
  if (kernel.hasComm(id)) return true;
  const { content } = await kernel.requestCommInfo({ target_name: 'jupyter.widget' });
  return content.status === 'ok' && Object.hasOwn(content.comms, id);
}

/** Selector of a preview's pictures; `dali_lab.show` gives them this class. */
const SHOWN = '.dali-lab-shown';

/** A text in UTF-8 as base64. */
function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
}

class EditorOutput extends Panel implements IRenderMime.IRenderer {
  private model: IRenderMime.IMimeModel | null = null;
  private shown: 'nothing' | 'widget' | 'picture' = 'nothing';
  private widgetId = '';
  private again = 0;
  /** A preview's widgets send no event about their pictures, so their DOM is watched. */
  private readonly watcher = new MutationObserver(() => {
    this.keepPreview();
    this.keepKeys();
  });

  constructor(
    private readonly options: IRenderMime.IRendererOptions,
    private readonly rendermime: IRenderMimeRegistry,
    private readonly session: ISessionContext,
    private readonly trans: TranslationBundle,
  ) {
    super();
    this.addClass('dali-lab-output');
    this.node.addEventListener(PICTURE_EVENT, (event) => this.keep((event as CustomEvent<string>).detail));
    session.kernelChanged.connect(this.changed, this);
    session.connectionStatusChanged.connect(this.changed, this);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const id = (model.data[MIME] as { model_id?: string } | undefined)?.model_id ?? '';
    this.model = model;
    // An editor that works stays as it is when only the picture beside it has changed.
    if (id === this.widgetId && this.shown !== 'nothing') return;
    this.widgetId = id;
    this.shown = 'nothing';
    await this.check();
  }

  override dispose(): void {
    window.clearTimeout(this.again);
    this.session.kernelChanged.disconnect(this.changed, this);
    this.session.connectionStatusChanged.disconnect(this.changed, this);
    this.watcher.disconnect();
    super.dispose();
  }

  private changed(): void {
    void this.check();
  }

  /** Shows the widget as soon as it can be had, and the picture while there is no kernel. */
  private async check(): Promise<void> {
    window.clearTimeout(this.again);
    const kernel = this.session.session?.kernel;
    if (this.shown === 'nothing' || (this.shown === 'widget' && !kernel)) this.showPicture();
    if (this.shown === 'widget') return;
    const id = this.widgetId;
    const alive = await lives(kernel, id).catch(() => 'unknown' as const);
    // Meanwhile another check may have come to its end, or the output may have gone.
    if (!alive || id !== this.widgetId || this.isDisposed || !this.model || this.showsWidget()) return;
    // A connection that is made anew drops the question, and widgets may be registered after the notebook is shown.
    if (alive === 'unknown' || !this.rendermime.mimeTypes.includes(WIDGET)) {
      window.clearTimeout(this.again);
      this.again = window.setTimeout(() => this.changed(), RETRY);
    } else await this.showWidget(this.model);
  }

  private showsWidget(): boolean {
    return this.shown === 'widget';
  }

  private showPicture(): void {
    this.shown = 'picture';
    this.watcher.disconnect();
    const svg = this.model?.data[SVG];
    if (svg === undefined) {
      this.showBatch();
      return;
    }
    const text = Array.isArray(svg) ? svg.join('') : typeof svg === 'string' ? svg : '';
    const words = this.trans.__('The graph as it was. Run the cell to edit it.');
    this.replace(new Widget({ node: stillPicture(text, words) }));
  }

  /** The batch that a preview showed, sanitized like any HTML of an untrusted notebook. */
  private showBatch(): void {
    const renderer = this.rendermime.getFactory(HTML)?.createRenderer({ ...this.options, mimeType: HTML });
    if (!renderer || !this.model) return;
    const { data, metadata } = this.model;
    this.replace(renderer);
    void renderer.renderModel({ trusted: false, data, metadata, setData: () => undefined });
  }

  private async showWidget(model: IRenderMime.IMimeModel): Promise<void> {
    const renderer = this.rendermime
      .getFactory(WIDGET)
      ?.createRenderer({ ...this.options, mimeType: WIDGET });
    if (!renderer) return;
    this.shown = 'widget';
    this.replace(renderer);
    if (model.data[SVG] === undefined) {
      this.watcher.observe(this.node, { childList: true, subtree: true, characterData: true });
    }
    try {
      await renderer.renderModel(model);
    } catch (error) {
      // It was taken away meanwhile.
      if (!renderer.isDisposed) throw error;
    }
  }

  private replace(content: Widget): void {
    for (const each of [...this.widgets]) each.dispose();
    this.addWidget(content);
  }

  /** Arrow keys move the slider of a preview, and choose no other cell: shortcuts go by the element that has the keys. */
  private keepKeys(): void {
    for (const handle of this.node.querySelectorAll<HTMLElement>('[tabindex]'))
      handle.dataset['lmSuppressShortcuts'] = 'true';
  }

  /** Puts the batch that a preview shows into the notebook. */
  private keepPreview(): void {
    const html = this.node.querySelector(SHOWN)?.outerHTML;
    if (!this.model || !html || this.model.data[HTML] === html) return;
    this.model.setData({ data: { ...this.model.data, [HTML]: html } });
  }

  /** Puts the picture of the last state into the notebook, for when it is opened without a kernel. */
  private keep(svg: string | undefined): void {
    if (!this.model || !svg || this.model.data[SVG] === svg) return;
    const image = `data:image/svg+xml;base64,${base64(svg)}`;
    const html = `<img alt="The graph" src="${image}">`;
    this.model.setData({ data: { ...this.model.data, [SVG]: svg, [HTML]: html } });
  }
}
