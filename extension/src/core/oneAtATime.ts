/** The task as one that is never at work twice: asked for meanwhile, it is done once more, however often that was. */
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
