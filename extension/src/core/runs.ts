/** What a run says of nodes and of the GPU, in words. */
import { formatBytes } from './placement';
import type { NodeRun, RunDone } from './protocol';
import { formatTime } from './values';

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
  const memory = run.gpu_memory ? `; its results take ${formatBytes(run.gpu_memory)}` : '';
  return {
    text: `GPU ${formatTime(run.gpu_time_ms)}`,
    title: `Time on the GPU for a batch in the last run${memory}`,
  };
}

/** GPU memory that a run needed, with what was copied between CPU and GPU. */
export function gpuMemoryFigure(run: RunDone | null): Figure | null {
  if (!run?.gpu) return null;
  const { memory, transfers } = run.gpu;
  const copies = transfers.map(
    ({ from, to, bytes }) => `${from} to the ${to.toUpperCase()}, ${formatBytes(bytes)}`,
  );
  return {
    text: `GPU memory ${formatBytes(memory.peak)}`,
    title: [
      `The most that the last run used; ${formatBytes(memory.held)} held, ` +
        `${formatBytes(memory.free)} of ${formatBytes(memory.total)} free`,
      ...(copies.length > 0 ? ['Copied with a batch:', ...copies] : []),
    ].join('\n'),
  };
}
