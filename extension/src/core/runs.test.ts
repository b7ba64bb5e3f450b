import { describe, expect, it } from 'vitest';
import type { RunDone } from './protocol';
import { gpuMemoryFigure, gpuTimeFigure, rateFigure, secondsLeft } from './runs';

const run: RunDone = {
  run: 1,
  status: 'done',
  batches: 20,
  samples: 160,
  seconds: 0.5,
  images_per_second: 320,
  nodes: {
    reader: { time_ms: 2, images_per_second: 4000 },
    crop: { time_ms: 20, images_per_second: 400.4 },
    resize: { time_ms: 0.1, images_per_second: 80000, gpu_time_ms: 0.0523, gpu_memory: 3_200_000 },
    flip: { time_ms: 0, images_per_second: 0, gpu_time_ms: 1.25, gpu_memory: 0 },
  },
  gpu: {
    memory: { in_use: 1e6, held: 400e6, peak: 312e6, free: 79e9, total: 80e9, table: '' },
    transfers: [
      { from: 'decode', to: 'gpu', bytes: 1_500_000 },
      { from: 'reader:1', to: 'cpu', bytes: 32 },
    ],
  },
};

it('tells the remaining time by the pace so far', () => {
  const work = { done: 25, total: 100, began: 1000 };
  expect(secondsLeft(work, 11_000)).toBe(30);
  expect(secondsLeft(work, 1500)).toBeNull();
  expect(secondsLeft({ ...work, total: 0 }, 11_000)).toBeNull();
  expect(secondsLeft({ ...work, done: 0 }, 11_000)).toBeNull();
});

describe('figures of a run', () => {
  it('say how many images per second a node on the CPU does', () => {
    expect(rateFigure(run.nodes['reader'])).toBe('4.0k/s');
    expect(rateFigure(run.nodes['crop'])).toBe('400/s');
    expect(rateFigure(undefined)).toBeNull();
  });

  it('give a node on the GPU its time there instead', () => {
    expect(rateFigure(run.nodes['resize'])).toBeNull();
    expect(gpuTimeFigure(run.nodes['resize'])).toMatchObject({
      text: 'GPU 52 µs',
      title: 'Time on the GPU for a batch in the last run; its results take 3.2 MB',
    });
    expect(gpuTimeFigure(run.nodes['flip'])).toEqual({
      text: 'GPU 1.3 ms',
      title: 'Time on the GPU for a batch in the last run',
    });
    expect(gpuTimeFigure(run.nodes['crop'])).toBeNull();
    expect(gpuTimeFigure({ time_ms: 1, images_per_second: 9, gpu_time_ms: 0 })).toBeNull();
    expect(gpuTimeFigure(undefined)).toBeNull();
  });

  it('name GPU memory and what was copied', () => {
    expect(gpuMemoryFigure(run)?.text).toBe('GPU memory 312 MB');
    expect(gpuMemoryFigure(run)?.title.split('\n')).toEqual([
      'The most that the last run used; 400 MB held, 79.0 GB of 80.0 GB free',
      'Copied with a batch:',
      'decode to the GPU, 1.5 MB',
      'reader:1 to the CPU, 32 B',
    ]);
    expect(gpuMemoryFigure({ ...run, gpu: undefined })).toBeNull();
    expect(gpuMemoryFigure(null)).toBeNull();
  });
});
