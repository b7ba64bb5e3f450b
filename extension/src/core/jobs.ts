/** Work of the session besides previews, each kind once at a time: begun and stopped. */
import { changesMeaning, diff } from './changes';
import type { Editor } from './editor';
import type { Parameters } from './protocol';
import type { JobState } from './state';

export type Job = 'run' | 'check' | 'distribution' | 'cache' | 'probe';

/** A kind of work: its state when it begins, the other kinds that it waits for, and words where it does not start. */
interface Beginning<J extends Job> {
  state: Omit<NonNullable<JobState[J]>, 'run'>;
  params?: Omit<Parameters<J>[0], 'run'>;
  besides?: readonly Job[];
  failed: string;
}

export async function begin<J extends Job>(
  editor: Editor,
  job: J,
  { state, params, besides = [], failed }: Beginning<J>,
): Promise<void> {
  const jobs = editor.jobs.get();
  if ([job, ...besides].some((each) => jobs[each])) return;
  const run = editor.previews.newRun();
  editor.sync.flush();
  editor.jobs.patch({ [job]: { run, ...state } });
  editor.worked.set(run, editor.history.document);
  try {
    await editor.connection.call<Job>(job, { ...params, run });
  } catch (error) {
    editor.jobs.patch({ [job]: null });
    editor.report(error, failed);
  }
}

/** Whether the graph is another than the one that some work was about. */
export function outdated(editor: Editor, run: number | undefined): boolean {
  const before = run === undefined ? undefined : editor.worked.get(run);
  const now = editor.history.document;
  return before !== undefined && before !== now && changesMeaning(diff(before, now), before);
}

export function end(editor: Editor, job: Job): void {
  const run = editor.jobs.get()[job]?.run;
  if (run !== undefined) editor.connection.call('cancel', { run }).catch(() => undefined);
}
