/** The gallery as a panel of its own, with a session in a kernel that ends with it. */
import { ILayoutRestorer, type JupyterFrontEnd } from '@jupyterlab/application';
import {
  MainAreaWidget,
  SessionContext,
  WidgetTracker,
  type ICommandPalette,
  type ISessionContext,
} from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { ILauncher } from '@jupyterlab/launcher';
import type { TranslationBundle } from '@jupyterlab/translation';
import { UUID } from '@lumino/coreutils';
import type { Message as LuminoMessage } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { emptyDocument } from '../../src/core/document';
import { makeBar, showBar } from './bars';
import type { GraphWidget } from './document';
import { loadEditor, type GraphDocument } from './editor';
import { galleryIcon } from './icons';
import type { GraphPanel } from './panel';
import { KernelTransport, type State } from './transport';

const COMMAND = 'dali-lab:gallery';

export interface GalleryOptions {
  app: JupyterFrontEnd;
  tracker: WidgetTracker<GraphWidget>;
  /** A new pipeline in a folder; without one, in that of the file browser. */
  createNew: (cwd?: string) => Promise<GraphPanel | null>;
  restorer: ILayoutRestorer | null;
  palette: ICommandPalette | null;
  launcher: ILauncher | null;
  trans: TranslationBundle;
}

/** The panel's content. */
class GalleryPanel extends Widget {
  private handle: { dispose(): void } | null = null;
  private bar = makeBar('kernel');
  private place = document.createElement('div');
  private mounting = false;

  constructor(
    private session: ISessionContext,
    private options: GalleryOptions,
  ) {
    super();
    this.addClass('dali-document');
    this.place.className = 'dali-document-canvas';
    this.node.append(this.bar, this.place);
    this.node.tabIndex = -1;
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.handle?.dispose();
    this.handle = null;
    void this.session.shutdown().finally(() => this.session.dispose());
    super.dispose();
  }

  protected override onAfterAttach(message: LuminoMessage): void {
    super.onAfterAttach(message);
    void this.mount();
  }

  private async mount(): Promise<void> {
    if (this.mounting) return;
    this.mounting = true;
    const { mountGallery } = await loadEditor(this.options.trans);
    if (this.isDisposed) return;
    const { trans, tracker } = this.options;
    const transport = new KernelTransport(this.session, trans, {
      start: () => emptyDocument(),
      title: () => trans.__('Gallery'),
      readOnly: () => true,
      incoming: (message) => message,
      onState: (state) => this.tell(state),
    });
    this.handle = mountGallery(this.place, transport, {
      open: (document, title) => void this.open(document, title),
      insert: (page, document) => void this.insert(page, document),
      folder: () => {
        const nodes = Object.values(this.graph(tracker)?.getDocument().nodes ?? {});
        const root = nodes
          .map((node) => node.arguments?.['file_root'])
          .find((each) => typeof each === 'string');
        return root ?? null;
      },
    });
  }

  private graph(tracker: WidgetTracker<GraphWidget>) {
    return tracker.currentWidget?.content.handle ?? null;
  }

  /** Opens a graph as a new file beside the graph at hand. */
  private async open(document: GraphDocument, title: string): Promise<void> {
    const { tracker, createNew } = this.options;
    const path = tracker.currentWidget?.context.path;
    const made = await createNew(path === undefined ? undefined : PathExt.dirname(path));
    await made?.ready;
    await made?.handle?.open({ text: JSON.stringify(document), name: `${title}.dali.json` });
  }

  private async insert(
    page: Parameters<Awaited<ReturnType<typeof loadEditor>>['insertInto']>[1],
    document: GraphDocument,
  ): Promise<void> {
    const { insertInto } = await loadEditor(this.options.trans);
    const widget = this.options.tracker.currentWidget;
    const handle = widget?.content.handle;
    if (!widget || !handle) {
      await this.open(document, page.title);
      return;
    }
    if (insertInto(handle.editor, page, document)) this.options.app.shell.activateById(widget.id);
  }

  private tell(state: State): void {
    const text = state.detail ?? this.options.trans.__('The kernel cannot be reached.');
    showBar(this.bar, state.status === 'disconnected' ? { level: 'warning', text, actions: [] } : null);
  }
}

/** Adds the command that shows the gallery, to the palette and to the launcher. */
export function addGallery(options: GalleryOptions): void {
  const { app, palette, launcher, restorer, trans } = options;
  const { commands, serviceManager, shell } = app;
  const shown = new WidgetTracker<MainAreaWidget<GalleryPanel>>({ namespace: 'dali-lab-gallery' });

  commands.addCommand(COMMAND, {
    label: trans.__('DALI Gallery'),
    caption: trans.__('Augmentations and recipes to look at, compare and take along'),
    icon: galleryIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => {
      const before = shown.currentWidget;
      if (before && !before.isDisposed) {
        shell.activateById(before.id);
        return before;
      }
      const session = new SessionContext({
        sessionManager: serviceManager.sessions,
        specsManager: serviceManager.kernelspecs,
        kernelManager: serviceManager.kernels,
        path: `dali-lab-gallery-${UUID.uuid4()}`,
        name: trans.__('DALI Gallery'),
        type: 'dali-lab-gallery',
        kernelPreference: { language: 'python', autoStartDefault: true, shutdownOnDispose: true },
      });
      const content = new GalleryPanel(session, options);
      const widget = new MainAreaWidget({ content });
      widget.id = 'dali-lab-gallery';
      widget.title.label = trans.__('DALI Gallery');
      widget.title.icon = galleryIcon;
      widget.title.closable = true;
      widget.toolbar.hide();
      void session.initialize();
      void shown.add(widget);
      shell.add(widget, 'main');
      shell.activateById(widget.id);
      return widget;
    },
  });
  if (restorer) void restorer.restore(shown, { command: COMMAND, name: () => 'gallery' });
  palette?.addItem({ command: COMMAND, category: trans.__('DALI Pipeline') });
  launcher?.add({ command: COMMAND, category: trans.__('Other'), rank: 2 });
}
