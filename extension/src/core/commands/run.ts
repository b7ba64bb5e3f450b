/** Commands about batches: run, stopped, stepped through. */
import * as files from '../files';
import { msg } from '../language';
import type { Command } from './command';

export const RUN: readonly Command[] = [
  {
    id: 'run',
    label: msg('Run'),
    caption: msg('Measure the speed of a real run'),
    keys: ['Mod+Enter'],
    section: 'Run',
    whileWriting: true,
    enabled: ({ jobs, session }) => jobs.get().run === null && session.get().capabilities.run !== false,
    run: (editor) => void files.runBatches(editor, 20),
  },
  {
    id: 'stop',
    label: msg('Stop'),
    keys: ['Mod+.'],
    section: 'Run',
    enabled: ({ jobs, previews }) => jobs.get().run !== null || previews.status.get().running,
    run: files.stop,
  },
  {
    id: 'preview',
    label: msg('Preview again'),
    section: 'Run',
    run: (editor) => editor.previews.ask(),
  },
  {
    id: 'step',
    label: msg('Next batch'),
    keys: ['.'],
    section: 'Run',
    run: (editor) => editor.batch.update((state) => ({ ...state, iteration: state.iteration + 1 })),
  },
  {
    id: 'step-back',
    label: msg('Previous batch'),
    keys: [','],
    section: 'Run',
    enabled: (editor) => editor.batch.get().iteration > 0,
    run: (editor) =>
      editor.batch.update((state) => ({ ...state, iteration: Math.max(0, state.iteration - 1) })),
  },
];
