/** Requests to the session that open, save, export and run. */
import { RequestError } from './connection';
import type { Editor } from './editor';
import { begin, end } from './jobs';
import { keep, unsaved } from './kept';
import type { OpenRequest, Program } from './state';
import type { Consent, Exported, ExportedFile, Listing, Opened } from './protocol';
import { t } from './language';
import { sourceOf } from './pasted';

/** Opens a graph; says whether it is there, or the person has been asked more. `run` is a number to stop it by. */
export async function open(editor: Editor, asked: OpenRequest, run?: number): Promise<boolean> {
  const request = 'text' in asked ? { ...asked, text: sourceOf(asked.text) } : asked;
  try {
    if (await editor.host.open?.(request)) return true;
    editor.view.patch({ fetching: true });
    const opened = await editor.connection.call('open', {
      ...request,
      ...(run === undefined ? {} : { run }),
    });
    adoptAndKeep(editor, opened);
    return true;
  } catch (error) {
    if (error instanceof RequestError && error.code === 'cancelled') return false;
    const pipelines = error instanceof RequestError ? error.pipelines : undefined;
    if (pipelines && ('path' in request || 'text' in request)) {
      editor.prompts.patch({ program: { request, pipelines } });
      return true;
    }
    editor.report(error, t('It could not be opened'));
    return false;
  } finally {
    editor.view.patch({ fetching: false });
  }
}

/** Stops what is being opened, as long as the graph before is there. */
export function stopOpening(editor: Editor, run: number): void {
  editor.connection.call('cancel', { run }).catch(() => undefined);
}

/** Takes a document that was opened; one that was not saved is kept. */
function adoptAndKeep(editor: Editor, opened: Opened): void {
  const before = unsaved(editor);
  editor.adopt(opened);
  if (before) keep(editor, before);
}

export interface Failure {
  message: string;
  detail?: string | undefined;
}

/** Asks the session for the text of a program as it would run, and for the number by which a person agrees to it. */
export async function askToRun(editor: Editor, program: Program): Promise<Consent | Failure> {
  const params = { ...program.request, run: editor.previews.newRun() };
  const refusal = await editor.connection.call('trace', params).catch((error: unknown) => error);
  if (!(refusal instanceof RequestError)) throw refusal;
  return refusal.consent ?? refusal;
}

/** A program as Python reads it, with nothing hidden: lines that end as Python ends them, invisible characters by number. */
export function plainly(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(
      /[^\P{C}\t\n]|\p{Default_Ignorable_Code_Point}/gu,
      (letter) => `\\u{${Number(letter.codePointAt(0)).toString(16)}}`,
    );
}

export interface Tracing {
  /** Null when the graph is there, else why it is not. */
  done: Promise<Failure | null>;
  stop: () => void;
}

/** Runs a program in a process of its own, with the number by which a person agreed to it, and takes its graph. */
export function trace(
  editor: Editor,
  program: Program,
  name: string,
  values: Record<string, string>,
  consent: string,
): Tracing {
  const run = editor.previews.newRun();
  const params = { ...program.request, run, pipeline: name, consent, arguments: readValues(values) };
  const done = editor.connection.call('trace', params).then(
    (opened) => {
      adoptAndKeep(editor, opened);
      return null;
    },
    (error: unknown) => {
      if (!(error instanceof RequestError)) throw error;
      return { message: error.message, detail: error.detail };
    },
  );
  return { done, stop: () => void editor.connection.call('cancel', { run }).catch(() => undefined) };
}

/** Parses the arguments typed for a program: JSON where it is JSON, else text. Empty fields are left out. */
function readValues(values: Record<string, string>): Record<string, unknown> {
  const given = Object.entries(values).filter(([, text]) => text.trim() !== '');
  return Object.fromEntries(
    given.map(([name, text]) => {
      try {
        return [name, JSON.parse(text) as unknown];
      } catch {
        return [name, text];
      }
    }),
  );
}

export async function createNew(editor: Editor): Promise<void> {
  if (editor.host.createNew) {
    editor.host.createNew();
    return;
  }
  try {
    adoptAndKeep(editor, await editor.connection.call('new'));
  } catch (error) {
    editor.report(error, t('A new graph could not be made'));
  }
}

export type SaveResult = 'saved' | 'exists' | 'failed';

export async function save(editor: Editor, path?: string, overwrite = false): Promise<SaveResult> {
  editor.sync.flush('all');
  const { document } = editor.history;
  try {
    const { file, title } = await editor.connection.call('save', {
      ...(path === undefined ? {} : { path }),
      overwrite,
    });
    // Later changes are not in the file.
    editor.session.patch({ file, title, dirty: editor.history.document !== document, readOnly: false });
    editor.settleNotices(t('It could not be saved'));
    editor.notify('info', t('Saved as %1.', file?.name ?? title));
    return 'saved';
  } catch (error) {
    if (error instanceof RequestError && (error.code === 'exists' || error.code === 'stale') && !overwrite) {
      if (path === undefined) {
        const retry = { title: t('Overwrite'), run: () => void save(editor, path, true) };
        editor.notify('warning', error.message, { actions: [retry] });
      }
      return 'exists';
    }
    editor.report(error, t('It could not be saved'));
    return 'failed';
  }
}

export function listFiles(editor: Editor, path: string | null, kinds?: readonly string[]): Promise<Listing> {
  return editor.connection.call('list_files', {
    ...(path === null ? {} : { path }),
    ...(kinds ? { kinds } : {}),
  });
}

export function exportGraph(editor: Editor, to: string): Promise<Exported> {
  editor.sync.flush(to === 'json' ? 'all' : 'edits');
  return editor.connection.call('export', { to });
}

/**
 * An export that is a file and no text, such as a picture of the graph: handed to the browser, after `change` has made
 * another file of it.
 */
export async function exportFile(editor: Editor, to: string, change?: FileChange): Promise<string[]> {
  editor.sync.flush();
  const { result, buffers } = await editor.connection.request('export', { to });
  const file = result as unknown as ExportedFile; // the answer for forms that are no text
  const bytes = buffers[file.buffer];
  if (bytes && change) {
    const content = await change.make(new TextDecoder().decode(bytes));
    download(content, file.filename.replace(/\.[^.]*$/, change.ending), content.type);
  } else if (bytes) download(bytes as BlobPart, file.filename, file.mime);
  return file.warnings ?? [];
}

/** Makes a file with another ending of a text. */
export interface FileChange {
  ending: string;
  make: (text: string) => Promise<Blob>;
}

/** Hands something to the browser as a file. */
export function download(content: BlobPart, filename: string, mime = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([content], { type: mime }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = filename;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Runs batches to measure speed, apart from previews; or an epoch on the cluster, which tells how many there are. */
export async function runBatches(editor: Editor, batches: number | 'on-cluster'): Promise<void> {
  const onCluster = batches === 'on-cluster';
  if (!editor.jobs.get().run) editor.settleNotices('run');
  await begin(editor, 'run', {
    state: { done: 0, total: onCluster ? 0 : batches, rate: null, began: Date.now() },
    params: onCluster ? { on_cluster: true } : { batches },
    failed: t('The run did not start'),
  });
}

export function stop(editor: Editor): void {
  end(editor, 'run');
  editor.previews.cancel();
}
