/** JupyterLab's commands for pipelines: the editor's, and commands about files and notebooks. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Clipboard, Notification, type ICommandPalette, type WidgetTracker } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import type { TranslationBundle } from '@jupyterlab/translation';
import { redoIcon, runIcon, stopIcon, undoIcon, type LabIcon } from '@jupyterlab/ui-components';
import type { Widget } from '@lumino/widgets';
import type { GraphWidget } from './document';
import {
  arrangeIcon,
  exportIcon,
  fitIcon,
  graphIcon,
  stepBackIcon,
  stepIcon,
  zoomInIcon,
  zoomOutIcon,
} from './icons';
import { editorCommands, SWITCHES } from './words';
import { emptyDocument } from '../../src/core/document';
import { readGraph, writeGraph } from '../../src/core/text';

export const FACTORY = 'DALI pipeline';
export const FILE_TYPE = 'dali-graph';

const NO_ARGUMENTS = { args: { type: 'object', properties: {} } };
const ICONS: Record<string, LabIcon> = {
  run: runIcon,
  stop: stopIcon,
  step: stepIcon,
  'step-back': stepBackIcon,
  undo: undoIcon,
  redo: redoIcon,
  arrange: arrangeIcon,
  fit: fitIcon,
  'zoom-in': zoomInIcon,
  'zoom-out': zoomOutIcon,
  export: exportIcon,
};

/** Milliseconds for which a message of a command is shown; the list behind the bell keeps it. */
const SHOWN_FOR = 8000;

/** The members of a notebook panel that are used here. */
interface NotebookLike extends Widget {
  context: DocumentRegistry.Context;
  content: { activeCell: { model: { sharedModel: { setSource(source: string): void } } } | null };
}

export interface CommandOptions {
  app: JupyterFrontEnd;
  tracker: WidgetTracker<GraphWidget>;
  browser: IDefaultFileBrowser | null;
  palette: ICommandPalette | null;
  trans: TranslationBundle;
}

export function addCommands({ app, tracker, browser, palette, trans }: CommandOptions): void {
  const { commands } = app;
  const current = (): GraphWidget | null =>
    tracker.currentWidget && tracker.currentWidget === app.shell.currentWidget ? tracker.currentWidget : null;

  const table = editorCommands(trans);
  for (const [id, label, caption] of table) {
    const icon = ICONS[id];
    commands.addCommand(`dali-lab:${id}`, {
      label,
      caption,
      ...(icon ? { icon } : {}),
      isEnabled: () => current()?.content.handle?.commandState(id).enabled === true,
      ...(SWITCHES.includes(id)
        ? { isToggled: () => current()?.content.handle?.commandState(id).checked === true }
        : {}),
      execute: () => current()?.content.execute(id),
      describedBy: NO_ARGUMENTS,
    });
  }

  commands.addCommand('dali-lab:create-new', {
    label: ({ isPalette }) => (isPalette ? trans.__('New DALI Pipeline') : trans.__('DALI Pipeline')),
    caption: trans.__('Make a graph of operators and see its pictures'),
    icon: ({ isPalette }) => (isPalette ? undefined : graphIcon),
    describedBy: {
      args: { type: 'object', properties: { cwd: { type: 'string' }, name: { type: 'string' } } },
    },
    execute: async ({ cwd, name }) => {
      const path = typeof cwd === 'string' ? cwd : (browser?.model.path ?? '');
      const made = (await commands.execute('docmanager:new-untitled', {
        path,
        type: 'file',
        ext: 'dali.json',
      })) as {
        path: string;
      };
      const { contents } = app.serviceManager;
      // Where there is such a file already, the new one stays without a name.
      if (typeof name === 'string')
        await contents.rename(made.path, PathExt.join(path, `${name}.dali.json`)).then(
          (named) => (made.path = named.path),
          () => undefined,
        );
      // A file without content is no graph to other programs.
      const content = writeGraph(emptyDocument());
      await contents.save(made.path, { type: 'file', format: 'text', content });
      return commands.execute('docmanager:open', { path: made.path, factory: FACTORY }) as Promise<Widget>;
    },
  });

  const chosen = (): string | null =>
    [...(browser?.selectedItems() ?? [])].find(({ path }) => path.endsWith('.dali.json'))?.path ?? null;
  /** The graph that a command is about: the document that is shown, else the file chosen in the browser. */
  const target = (): string | null => current()?.context.path ?? chosen();
  const openDocument = (path: string): GraphWidget | undefined =>
    tracker.find((widget) => widget.context.path === path);

  commands.addCommand('dali-lab:open-text', {
    label: trans.__('Open as Text'),
    caption: trans.__('Show the text of this graph beside it'),
    isEnabled: () => target() !== null,
    execute: () =>
      commands.execute('docmanager:open', {
        path: target(),
        factory: 'Editor',
        options: { mode: 'split-right' },
      }),
    describedBy: NO_ARGUMENTS,
  });

  commands.addCommand('dali-lab:open-in-notebook', {
    label: trans.__('Open in Notebook'),
    caption: trans.__('Make a notebook with a cell that loads this graph'),
    isEnabled: () => target() !== null,
    describedBy: { args: { type: 'object', properties: { path: { type: 'string' } } } },
    execute: async ({ path: given }) => {
      const path = typeof given === 'string' ? given : target();
      if (path === null) return;
      const shown = openDocument(path);
      if (shown?.context.model.dirty) await shown.context.save();
      const kernel = shown?.context.sessionContext.session?.kernel;
      const local = app.serviceManager.contents.localPath(path);
      const panel = (await commands.execute('notebook:create-new', {
        cwd: PathExt.dirname(path),
        ...(kernel ? { kernelName: kernel.name, kernelId: kernel.id } : { kernelName: 'python3' }),
      })) as NotebookLike;
      await panel.context.ready;
      const file = JSON.stringify(PathExt.basename(local));
      const code = `import dali_lab\n\neditor = dali_lab.edit(${file})\neditor`;
      panel.content.activeCell?.model.sharedModel.setSource(code);
    },
  });

  const program = (): string | null =>
    [...(browser?.selectedItems() ?? [])].find(({ path }) => path.endsWith('.py'))?.path ?? null;
  commands.addCommand('dali-lab:open-program', {
    label: trans.__('Open as DALI Pipeline'),
    caption: trans.__('Show the graph of a pipeline in this program, as a new file beside it'),
    icon: graphIcon,
    isEnabled: () => program() !== null,
    describedBy: { args: { type: 'object', properties: { path: { type: 'string' } } } },
    execute: async ({ path: given }) => {
      const path = typeof given === 'string' ? given : program();
      if (path === null) return;
      const made = (await commands.execute('dali-lab:create-new', {
        cwd: PathExt.dirname(path),
        name: PathExt.basename(path, '.py'),
      })) as GraphWidget;
      await made.context.ready;
      await made.content.ready;
      const { handle } = made.content;
      if (!handle) return;
      const { prompts, notices } = handle.editor;
      // The session runs in the folder of the new file.
      await handle.open({ path: PathExt.basename(app.serviceManager.contents.localPath(path)) });
      // Of several pipelines the person chooses one.
      while (prompts.get().program && !made.isDisposed)
        await new Promise<void>((done) => {
          const stop = prompts.watch('program', () => {
            stop();
            done();
          });
          made.disposed.connect(() => done());
        });
      if (made.isDisposed || Object.keys(handle.getDocument().nodes).length > 0) return;
      const failure = notices.get().at(-1);
      const left = made.context.path;
      made.context.model.dirty = false;
      made.dispose();
      try {
        await app.serviceManager.contents.delete(left);
      } finally {
        if (failure)
          Notification.error(`${PathExt.basename(path)}: ${failure.message}`, { autoClose: SHOWN_FOR });
      }
    },
  });

  commands.addCommand('dali-lab:copy-python', {
    label: trans.__('Copy as Python'),
    caption: trans.__('Copy this graph as a Python program'),
    isEnabled: () => target() !== null,
    describedBy: NO_ARGUMENTS,
    execute: async () => {
      const path = target();
      if (path === null) return;
      let shown = openDocument(path);
      if (!shown) {
        shown = (await commands.execute('docmanager:open', { path, factory: FACTORY })) as GraphWidget;
        await shown.context.ready;
      }
      try {
        readGraph(shown.context.model.toString());
        await shown.content.ready;
        const { text, warnings } = await shown.content.ask('export', { to: 'python' });
        Clipboard.copyToSystem(text);
        if (warnings?.length) Notification.warning(warnings.join(' '), { autoClose: SHOWN_FOR });
        else
          Notification.info(trans.__('Copied %1 as Python.', PathExt.basename(path)), {
            autoClose: SHOWN_FOR,
          });
      } catch (error) {
        Notification.error((error as Error).message, { autoClose: SHOWN_FOR });
      }
    },
  });

  if (!palette) return;
  const category = trans.__('DALI Pipeline');
  for (const [id] of table) palette.addItem({ command: `dali-lab:${id}`, category });
  for (const id of ['open-text', 'open-in-notebook', 'copy-python'])
    palette.addItem({ command: `dali-lab:${id}`, category });
  palette.addItem({ command: 'dali-lab:create-new', category, args: { isPalette: true } });
}
