/** Wraps a task so that it never runs twice at once: any number of calls meanwhile cause one more run. */
export function oneAtATime(task: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const begin = (): Promise<void> => {
    next = null;
    current = task().finally(() => {
      current = null;
    });
    return current;
  };
  return () => (current ? (next ??= current.catch(() => undefined).then(begin)) : begin());
}
