/** The results of a run, for nodes and for the GPU, as text. */
import { formatBytes } from './values';
import type { NodeRun, RunDone } from './protocol';
import type { Progress } from './state';
import { formatTime } from './values';
import { t } from './language';

/** Seconds that work will still take at its pace so far; null in its first second, or where nobody knows its end. */
export function secondsLeft({ done, total, began }: Progress, now = Date.now()): number | null {
  const spent = (now - began) / 1000;
  return done > 0 && total > 0 && spent >= 1 ? Math.ceil((spent * Math.max(0, total - done)) / done) : null;
}

export interface Figure {
  text: string;
  title: string;
}

/** Images per second of a node; none for a node on the GPU, whose CPU time is only that of launching it. */
export function rateFigure(run: NodeRun | undefined): string | null {
  if (!run || run.gpu_time_ms !== undefined || run.images_per_second <= 0) return null;
  const rate = run.images_per_second;
  return rate >= 1000 ? `${(rate / 1000).toFixed(1)}k/s` : `${Math.round(rate)}/s`;
}

/** Time of a node on the GPU in a batch of the last run; none on a device without a clock, such as the emulation. */
export function gpuTimeFigure(run: NodeRun | undefined): Figure | null {
  if (!run?.gpu_time_ms) return null;
  return {
    text: `GPU ${formatTime(run.gpu_time_ms)}`,
    title: run.gpu_memory
      ? t('Time on the GPU for a batch in the last run; its results take %1', formatBytes(run.gpu_memory))
      : t('Time on the GPU for a batch in the last run'),
  };
}

/** GPU memory that a run needed, with what was copied between CPU and GPU. */
export function gpuMemoryFigure(run: RunDone | null): Figure | null {
  if (!run?.gpu) return null;
  const { memory, transfers } = run.gpu;
  const copies = transfers.map(({ from, to, bytes }) =>
    t('%1 to the %2, %3', from, to.toUpperCase(), formatBytes(bytes)),
  );
  return {
    text: t('GPU memory %1', formatBytes(memory.peak)),
    title: [
      t(
        'The most that the last run used; %1 held, %2 of %3 free',
        formatBytes(memory.held),
        formatBytes(memory.free),
        formatBytes(memory.total),
      ),
      ...(copies.length > 0 ? [t('Copied with a batch:'), ...copies] : []),
    ].join('\n'),
  };
}
