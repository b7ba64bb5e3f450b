/** The JupyterLab extension: graphs of DALI Lab as documents, with their kernels, commands, menus and settings. */
import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import {
  createToolbarFactory,
  ICommandPalette,
  ISessionContextDialogs,
  IToolbarWidgetRegistry,
  SessionContextDialogs,
  Toolbar,
  WidgetTracker,
} from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { IMainMenu } from '@jupyterlab/mainmenu';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';
import { setTranslator } from '../../src/core/language';
import { addCommands, FACTORY, FILE_TYPE } from './commands';
import { GraphFactory, GraphWidget } from './document';
import { addGallery } from './gallery';
import type { Defaults, Surroundings } from './panel';
import { graphIcon } from './icons';
import { showEditorsIn } from './still';
import { batchNumber, seedField } from './toolbar';

const PLUGIN = 'dali-lab:plugin';
const DEFAULTS: Defaults = { palette: true, inspector: true, tray: true, minimap: true, samples: 4 };

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN,
  description: 'Opens .dali.json files on a canvas.',
  autoStart: true,
  optional: [
    ITranslator,
    ISettingRegistry,
    IToolbarWidgetRegistry,
    ISessionContextDialogs,
    ILayoutRestorer,
    ICommandPalette,
    ILauncher,
    IMainMenu,
    IDefaultFileBrowser,
  ],
  activate: (
    app: JupyterFrontEnd,
    translator: ITranslator | null,
    settings: ISettingRegistry | null,
    toolbars: IToolbarWidgetRegistry | null,
    sessionDialogs: ISessionContextDialogs | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    menu: IMainMenu | null,
    browser: IDefaultFileBrowser | null,
  ) => {
    const chosen = translator ?? nullTranslator;
    const trans = chosen.load('dali_lab');
    setTranslator(trans);
    const dialogs = sessionDialogs ?? new SessionContextDialogs({ translator: chosen });
    const { commands, docRegistry, serviceManager } = app;
    const loaded = settings?.load(PLUGIN);
    const composed = (found: ISettingRegistry.ISettings | undefined): Defaults => ({
      ...DEFAULTS,
      ...(found?.composite as Partial<Defaults> | undefined),
    });
    const defaults = async (): Promise<Defaults> => composed(await loaded);
    const surroundings = (): Surroundings => ({
      commands,
      trans,
      dialogs,
      contents: serviceManager.contents,
      defaults,
      uses: (path) =>
        !path.endsWith('.dali.json') ||
        tracker.find(({ context, isDisposed }) => !isDisposed && context.sessionContext.path === path) !==
          undefined,
      createNew: async (cwd) => {
        const made = (await commands.execute('dali-lab:create-new', cwd === undefined ? {} : { cwd })) as
          GraphWidget | undefined;
        return made?.content ?? null;
      },
    });

    docRegistry.addFileType({
      name: FILE_TYPE,
      displayName: trans.__('DALI Pipeline'),
      extensions: ['.dali.json'],
      mimeTypes: ['application/json'],
      icon: graphIcon,
      contentType: 'file',
      fileFormat: 'text',
    });

    if (toolbars) {
      const items: Record<string, (widget: GraphWidget) => Widget> = {
        batch: ({ content }) => batchNumber(content, trans),
        seed: ({ content }) => seedField(content, trans),
        kernelName: ({ context }) => Toolbar.createKernelNameItem(context.sessionContext, dialogs, chosen),
        kernelStatus: ({ context }) => Toolbar.createKernelStatusItem(context.sessionContext, chosen),
      };
      for (const [name, make] of Object.entries(items))
        toolbars.addFactory(FACTORY, name, (widget) => make(widget as GraphWidget));
    }
    const factory = new GraphFactory(
      {
        name: FACTORY,
        label: trans.__('DALI Pipeline'),
        fileTypes: [FILE_TYPE],
        defaultFor: [FILE_TYPE],
        modelName: 'text',
        preferKernel: true,
        canStartKernel: true,
        autoStartDefault: true,
        shutdownOnClose: true,
        translator: chosen,
        ...(toolbars && settings
          ? { toolbarFactory: createToolbarFactory(toolbars, settings, FACTORY, PLUGIN, chosen) }
          : {}),
      },
      surroundings,
      () => docRegistry.getWidgetFactory('Editor'),
    );
    const tracker = new WidgetTracker<GraphWidget>({ namespace: 'dali-lab' });
    factory.widgetCreated.connect((_, widget) => {
      void tracker.add(widget);
      widget.context.pathChanged.connect(() => void tracker.save(widget));
      widget.content.changed.connect(() => commands.notifyCommandChanged());
    });
    docRegistry.addWidgetFactory(factory);
    void loaded?.then((found) => {
      let before = composed(found);
      found.changed.connect(() => {
        const now = composed(found);
        tracker.forEach(({ content }) => content.takeDefaults(before, now));
        before = now;
      });
    });
    if (restorer)
      void restorer.restore(tracker, {
        command: 'docmanager:open',
        args: ({ context }) => ({ path: context.path, factory: FACTORY }),
        name: ({ context }) => context.path,
      });

    showEditorsIn(docRegistry, trans);
    addCommands({ app, tracker, browser, palette, trans });
    const { createNew } = surroundings();
    addGallery({ app, tracker, createNew, restorer, palette, launcher, trans });
    launcher?.add({ command: 'dali-lab:create-new', category: trans.__('Other'), rank: 1 });

    if (menu) {
      const isGraph = (widget: Widget): boolean => widget instanceof GraphWidget && tracker.has(widget);
      menu.editMenu.undoers.undo.add({ id: 'dali-lab:undo', isEnabled: isGraph });
      menu.editMenu.undoers.redo.add({ id: 'dali-lab:redo', isEnabled: isGraph });
      addKernelCommands(app, tracker, menu, dialogs, isGraph, trans);
    }
  },
};

/** The entries of the Kernel menu. */
function addKernelCommands(
  { commands }: JupyterFrontEnd,
  tracker: WidgetTracker<GraphWidget>,
  menu: IMainMenu,
  dialogs: ISessionContextDialogs,
  isEnabled: (widget: Widget) => boolean,
  trans: Surroundings['trans'],
): void {
  const context = () => tracker.currentWidget?.context.sessionContext;
  const users = menu.kernelMenu.kernelUsers;
  const add = (
    name: string,
    label: string,
    execute: () => unknown,
  ): { id: string; isEnabled: typeof isEnabled } => {
    const id = `dali-lab:${name}-kernel`;
    commands.addCommand(id, { label, execute, describedBy: { args: { type: 'object', properties: {} } } });
    return { id, isEnabled };
  };
  users.interruptKernel.add(
    add('interrupt', trans.__('Interrupt Kernel'), async () => {
      tracker.currentWidget?.content.stop();
      await context()?.session?.kernel?.interrupt();
    }),
  );
  users.restartKernel.add(
    add('restart', trans.__('Restart Kernel…'), () => {
      const current = context();
      return current && dialogs.restart(current);
    }),
  );
  // Without a command to clear the document, the menu would offer to restart a second time in the place of "and clear".
  commands.addCommand('dali-lab:clear', {
    label: trans.__('Clear'),
    isVisible: () => false,
    execute: () => undefined,
    describedBy: { args: { type: 'object', properties: {} } },
  });
  users.clearWidget.add({ id: 'dali-lab:clear', isEnabled });
  users.reconnectToKernel.add(
    add('reconnect', trans.__('Reconnect to Kernel'), () => context()?.session?.kernel?.reconnect()),
  );
  users.shutdownKernel.add(add('shutdown', trans.__('Shut Down Kernel'), () => context()?.shutdown()));
  users.changeKernel.add(
    add('change', trans.__('Change Kernel…'), () => {
      const current = context();
      return current && dialogs.selectKernel(current);
    }),
  );
}

export default plugin;
