/** Handles the session's events: changes by others, problems, notices, the progress of a run. */
import type { Editor } from './editor';
import { t } from './language';
import { verdict } from './probes';
import type { SessionEvent } from './protocol';

export function takeEvent(editor: Editor, { event, params }: SessionEvent): void {
  switch (event) {
    case 'changed': {
      const { revision, changes, client } = params;
      if (client !== editor.connection.client) editor.sync.remote(changes, revision);
      break;
    }
    case 'document':
      editor.adopt(params);
      break;
    case 'selected':
      editor.select(params.nodes.filter((id) => editor.history.document.nodes[id]));
      break;
    case 'problems':
      editor.takeProblems(params);
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
      const { read_only, ...state } = params;
      editor.session.update((info) => ({ ...info, ...state, readOnly: read_only ?? info.readOnly }));
      break;
    }
    case 'notice': {
      const { level, message, detail } = params;
      editor.notify(level, message, detail === undefined ? {} : { detail });
      break;
    }
    case 'run.progress': {
      const { images_per_second: rate, ...progress } = params;
      const going = editor.jobs.get().run;
      if (going?.run === progress.run) editor.jobs.patch({ run: { ...going, ...progress, rate } });
      break;
    }
    case 'run.done': {
      const done = params;
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
      const { run, done, total } = params;
      const going = editor.jobs.get().distribution;
      if (going?.run === run) editor.jobs.patch({ distribution: { ...going, done, total } });
      break;
    }
    case 'distribution.done': {
      const { run, status, samples, failed, charts, error } = params;
      const going = editor.jobs.get().distribution;
      if (going?.run !== run) break;
      const { node, output } = going;
      editor.jobs.patch({
        distribution: null,
        ...(status === 'done'
          ? {
              lastDistribution: {
                run,
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
      const done = params;
      if (editor.jobs.get().cache?.run !== done.run) break;
      editor.jobs.patch({ cache: null, ...(done.status === 'done' ? { lastCache: done } : {}) });
      if (done.error)
        editor.notify('error', t('The cache was not measured: %1', done.error.message), { about: 'run' });
      break;
    }
    case 'probe.progress': {
      const progress = params;
      if (editor.jobs.get().probe?.run === progress.run) editor.jobs.patch({ probe: progress });
      break;
    }
    case 'probe.done': {
      const done = params;
      if (editor.jobs.get().probe?.run !== done.run) break;
      const lastProbe = { ...done, of: editor.jobs.get().probed };
      editor.jobs.patch({ probe: null, ...(done.status === 'cancelled' ? {} : { lastProbe }) });
      if (editor.prompts.get().dialog === 'probe') break;
      if (done.error) editor.notify('error', t('The probe ended: %1', done.error.message));
      else if (done.status === 'done')
        editor.notify('info', verdict(done), {
          actions: [{ title: t('Show the curves'), run: () => editor.prompts.patch({ dialog: 'probe' }) }],
        });
      break;
    }
    case 'check.progress': {
      const progress = params;
      if (editor.jobs.get().check?.run === progress.run) editor.jobs.patch({ check: progress });
      break;
    }
    case 'check.done': {
      const done = params;
      if (editor.jobs.get().check?.run !== done.run) break;
      editor.jobs.patch({ check: null, ...(done.status === 'done' ? { lastCheck: done } : {}) });
      if (done.error) editor.notify('error', t('The check ended: %1', done.error.message));
      break;
    }
  }
}
