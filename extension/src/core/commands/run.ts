/** Commands about batches: run, stopped, stepped through. */
import * as files from '../files';
import { msg } from '../language';
import { inSection, opens } from './command';

export const RUN = inSection('Run', [
  {
    id: 'run',
    label: msg('Run'),
    caption: msg('Measure the speed of a real run'),
    keys: ['Mod+Enter'],
    whileWriting: true,
    enabled: ({ jobs, session }) => jobs.get().run === null && session.get().capabilities.run !== false,
    run: (editor) => void files.runBatches(editor, 20),
  },
  {
    id: 'run-on-cluster',
    label: msg('Run on Ray'),
    caption: msg('Run an epoch on the Ray cluster, or with Ray on this machine'),
    enabled: ({ jobs, session }) =>
      jobs.get().run === null && typeof session.get().capabilities.cluster === 'string',
    run: (editor) => void files.runBatches(editor, 'on-cluster'),
  },
  {
    id: 'stop',
    label: msg('Stop'),
    keys: ['Mod+.'],
    enabled: ({ jobs, previews }) => jobs.get().run !== null || previews.status.get().running,
    run: files.stop,
  },
  {
    id: 'probe',
    label: msg('Does it help?'),
    caption: msg('Train a small network with and without augmentations'),
    enabled: ({ session }) => session.get().capabilities.probe === true,
    run: opens('probe'),
  },
  { id: 'preview', label: msg('Preview again'), run: (editor) => editor.previews.ask() },
  {
    id: 'step',
    label: msg('Next batch'),
    keys: ['.'],
    run: (editor) => editor.batch.update((state) => ({ ...state, iteration: state.iteration + 1 })),
  },
  {
    id: 'step-back',
    label: msg('Previous batch'),
    keys: [','],
    enabled: (editor) => editor.batch.get().iteration > 0,
    run: (editor) =>
      editor.batch.update((state) => ({ ...state, iteration: Math.max(0, state.iteration - 1) })),
  },
]);
