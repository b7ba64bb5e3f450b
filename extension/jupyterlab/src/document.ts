/** The document widget of a graph, and its factory. */
import { ABCWidgetFactory, DocumentWidget, type DocumentRegistry } from '@jupyterlab/docregistry';
import { graphIcon } from './icons';
import { GraphPanel, type Surroundings } from './panel';

export class GraphWidget extends DocumentWidget<GraphPanel> {
  override dispose(): void {
    // The context goes before the content does.
    if (!this.isDisposed) this.content.leave();
    super.dispose();
  }
}

export class GraphFactory extends ABCWidgetFactory<GraphWidget> {
  constructor(
    options: DocumentRegistry.IWidgetFactoryOptions<GraphWidget>,
    private surroundings: () => Surroundings,
    private textEditor: () => DocumentRegistry.WidgetFactory | undefined,
  ) {
    super(options);
  }

  /** As for the text editor: both show one model of a file, also where several people write in it. */
  override get contentProviderId(): string | undefined {
    return this.textEditor()?.contentProviderId;
  }

  protected override createNewWidget(context: DocumentRegistry.Context): GraphWidget {
    context.sessionContext.kernelPreference = {
      ...context.sessionContext.kernelPreference,
      language: 'python',
      autoStartDefault: true,
    };
    const content = new GraphPanel(context, this.surroundings());
    const widget = new GraphWidget({ content, context });
    widget.title.icon = graphIcon;
    return widget;
  }
}
