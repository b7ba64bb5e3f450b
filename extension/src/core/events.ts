/** Handles the session's events: changes by others, problems, notices, the progress of a run. */
import type { Changes } from './changes';
import type { Editor } from './editor';
import { t } from './language';
import { verdict } from './probes';
import type {
  CacheDone,
  CheckDone,
  CheckProgress,
  DistributionDone,
  Opened,
  ProbeDone,
  ProbeProgress,
  Problems,
  RunDone,
  SessionEvent,
} from './protocol';
import type { Notice, RunState, SessionInfo } from './state';

export function takeEvent(editor: Editor, { event, params }: SessionEvent): void {
  switch (event) {
    case 'changed': {
      const { revision, changes, client } = params as {
        revision: number;
        changes: Changes;
        client: string;
      };
      if (client !== editor.connection.client) editor.sync.remote(changes, revision);
      break;
    }
    case 'document':
      editor.adopt(params as Opened);
      break;
    case 'selected':
      editor.select((params as { nodes: string[] }).nodes.filter((id) => editor.history.document.nodes[id]));
      break;
    case 'problems':
      editor.takeProblems(params as Problems);
      break;
    case 'catalogue':
      editor.loadCatalogue().then(
        // An unknown operator may be known now, and a known one may have changed.
        () => {
          editor.previews.ask();
        },
        (error: unknown) => {
          editor.report(error, t('The operators could not be listed'));
        },
      );
      break;
    case 'state': {
      const { read_only, ...state } = params as Partial<SessionInfo> & { read_only?: boolean };
      editor.session.update((info) => ({ ...info, ...state, readOnly: read_only ?? info.readOnly }));
      break;
    }
    case 'notice': {
      const { level, message, detail } = params as {
        level: Notice['level'];
        message: string;
        detail?: string;
      };
      editor.notify(level, message, detail === undefined ? {} : { detail });
      break;
    }
    case 'run.progress': {
      const { images_per_second: rate, ...progress } = params as Omit<RunState, 'rate' | 'began'> & {
        images_per_second: number;
      };
      const going = editor.jobs.get().run;
      if (going?.run === progress.run) editor.jobs.patch({ run: { ...going, ...progress, rate } });
      break;
    }
    case 'run.done': {
      const done = params as RunDone;
      if (editor.jobs.get().run?.run !== done.run) break;
      editor.jobs.patch({ run: null, ...(done.status === 'done' ? { lastRun: done } : {}) });
      if (done.missing) editor.notify('warning', done.missing.join(' '), { about: 'run' });
      if (done.summary) editor.notify('info', done.summary, { about: 'run' });
      if (done.error) {
        const { message, file } = done.error;
        const said = file ? t('The run ended at %1: %2', file, message) : t('The run ended: %1', message);
        editor.notify('error', said, { about: 'run' });
      }
      break;
    }
    case 'distribution.progress': {
      const { run, done, total } = params as { run: number; done: number; total: number };
      const going = editor.jobs.get().distribution;
      if (going?.run === run) editor.jobs.patch({ distribution: { ...going, done, total } });
      break;
    }
    case 'distribution.done': {
      const { run, status, samples, failed, charts, error } = params as DistributionDone;
      const going = editor.jobs.get().distribution;
      if (going?.run !== run) break;
      const { node, output } = going;
      editor.jobs.patch({
        distribution: null,
        ...(status === 'done'
          ? {
              lastDistribution: {
                node,
                output,
                samples: samples ?? 0,
                failed: failed ?? 0,
                charts: charts ?? [],
              },
            }
          : {}),
      });
      if (error) editor.notify('error', t('The samples could not be counted: %1', error.message));
      break;
    }
    case 'cache.done': {
      const done = params as CacheDone;
      if (editor.jobs.get().cache !== done.run) break;
      editor.jobs.patch({ cache: null, ...(done.status === 'done' ? { lastCache: done } : {}) });
      if (done.error)
        editor.notify('error', t('The cache was not measured: %1', done.error.message), { about: 'run' });
      break;
    }
    case 'probe.progress': {
      const progress = params as ProbeProgress;
      if (editor.jobs.get().probe?.run === progress.run) editor.jobs.patch({ probe: progress });
      break;
    }
    case 'probe.done': {
      const done = params as ProbeDone;
      if (editor.jobs.get().probe?.run !== done.run) break;
      editor.jobs.patch({ probe: null, ...(done.status === 'cancelled' ? {} : { lastProbe: done }) });
      if (editor.prompts.get().dialog === 'probe') break;
      if (done.error) editor.notify('error', t('The probe ended: %1', done.error.message));
      else if (done.status === 'done')
        editor.notify('info', verdict(done), {
          actions: [{ title: t('Show the curves'), run: () => editor.prompts.patch({ dialog: 'probe' }) }],
        });
      break;
    }
    case 'check.progress': {
      const progress = params as CheckProgress;
      if (editor.jobs.get().check?.run === progress.run) editor.jobs.patch({ check: progress });
      break;
    }
    case 'check.done': {
      const done = params as CheckDone;
      if (editor.jobs.get().check?.run !== done.run) break;
      editor.jobs.patch({ check: null, ...(done.status === 'done' ? { lastCheck: done } : {}) });
      if (done.error) editor.notify('error', t('The check ended: %1', done.error.message));
      break;
    }
  }
}
