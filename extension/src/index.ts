/** The bundle: `mount` for any host, the app's page, and the adapters of anywidget and Panel as its default export. */
// Before all components: their style sheets build on these, in the order of the imports.
import '@xyflow/react/dist/base.css';
import './base.css';
import { renderWidget, widgetTransport, type WidgetModel } from './hosts/anywidget';
import { mount, type Handle, type MountOptions } from './hosts/mount';
import { showPage } from './hosts/page';
import { renderPanel, type PanelModel } from './hosts/panel';

interface RenderContext {
  model: WidgetModel | PanelModel;
  el: HTMLElement;
}

function isPanel(model: WidgetModel | PanelModel): model is PanelModel {
  return typeof (model as Partial<PanelModel>).send_msg === 'function';
}

/** Both hosts call `render({ model, el })`; their models tell them apart. */
function render({ model, el }: RenderContext): (() => void) | undefined {
  if (!isPanel(model)) return renderWidget(model, el);
  renderPanel(model, el);
  return undefined;
}

export { insertInto } from './entries/editorHost';
export { mountGallery } from './hosts/mountGallery';
export { COMMANDS, execute } from './core/commands';
export { setTranslator, type Translator } from './core/language';
export type { Transport } from './core/protocol';
export { mount, showPage, widgetTransport };
export type { Handle, MountOptions };
export default { render, DaliLabEditor: { render } };
