/** Pages of a dataset that come as they are scrolled into view; the last ones are remembered. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { datasetPage, PAGE, type Query, type Shown } from '../../core/datasets';
import type { DatasetPage } from '../../core/protocol.generated';
import { useEditor } from '../context';

/** Pages kept, and milliseconds that scrolling has to rest before pictures are asked for. */
const KEPT = 40;
const REST_MS = 60;
/** While files are being looked at, the answer may change: it is asked for again after so long. */
const AGAIN_MS = 700;

export interface Pages {
  /** Facts about the whole dataset: sizes, labels. */
  facts: Omit<DatasetPage, 'samples'> | null;
  problem: string | null;
  sample: (at: number) => Shown | undefined;
  /** These samples are in view. */
  see: (first: number, last: number) => void;
}

export function usePages(query: Query, thumb: number): Pages {
  const editor = useEditor();
  const key = JSON.stringify(query);
  const pages = useRef({ key: '', found: new Map<number, Shown[]>(), asked: new Set<number>() });
  const view = useRef<[number, number]>([0, PAGE - 1]);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const [facts, setFacts] = useState<Pages['facts']>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [, redraw] = useState(0);

  const load = useCallback(
    (fresh = false) => {
      const state = pages.current;
      if (fresh) state.asked.clear();
      const [first, last] = view.current;
      for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) {
        if (state.asked.has(page)) continue;
        state.asked.add(page);
        datasetPage(editor, JSON.parse(state.key) as Query, page * PAGE, PAGE, thumb).then(
          ({ samples, ...rest }) => {
            if (pages.current !== state) return;
            state.found.delete(page);
            state.found.set(page, samples);
            const oldest = state.found.keys().next().value;
            if (state.found.size > KEPT && oldest !== undefined) {
              state.found.delete(oldest);
              state.asked.delete(oldest);
            }
            setFacts(rest);
            setProblem(null);
            redraw((count) => count + 1);
          },
          (error: unknown) => {
            if (pages.current === state) setProblem((error as Error).message);
          },
        );
      }
    },
    [editor, thumb],
  );

  useEffect(() => {
    pages.current = { key, found: new Map(), asked: new Set() };
    view.current = [0, PAGE - 1];
    load();
    return () => clearTimeout(timer.current);
  }, [key, load]);

  const looking = facts?.looking ?? false;
  useEffect(() => {
    if (!looking) return;
    const again = setInterval(() => load(true), AGAIN_MS);
    return () => {
      clearInterval(again);
      // The facts that the last answer lacked.
      load(true);
    };
  }, [looking, load]);

  const see = useCallback(
    (first: number, last: number) => {
      view.current = [first, last];
      clearTimeout(timer.current);
      timer.current = setTimeout(load, REST_MS);
    },
    [load],
  );
  const sample = (at: number): Shown | undefined =>
    pages.current.found.get(Math.floor(at / PAGE))?.[at % PAGE];
  return { facts, problem, sample, see };
}
