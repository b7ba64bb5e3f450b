/** A value that tells when it changes: the one kind of state that core and canvas share. */
export interface Value<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: (value: T) => void): () => void;
}

export class Observable<T> implements Value<T> {
  private listeners = new Set<(value: T) => void>();

  constructor(private value: T) {}

  get(): T {
    return this.value;
  }

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener(value);
  }

  update(change: (value: T) => T): void {
    this.set(change(this.value));
  }

  subscribe = (listener: (value: T) => void): (() => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };
}

/** The values of one subject, with one change event; selectors pick the values that a listener follows. */
export class Slice<S extends object> extends Observable<S> {
  patch(change: Partial<S>): void {
    const before = this.get();
    if (Object.entries(change).some(([key, value]) => !Object.is(before[key as keyof S], value)))
      this.set({ ...before, ...change });
  }

  /** Calls back when one of the values has changed. */
  watch<K extends keyof S>(key: K, listener: (value: S[K]) => void): () => void {
    let before = this.get()[key];
    return this.subscribe(({ [key]: now }) => {
      if (Object.is(now, before)) return;
      before = now;
      listener(now);
    });
  }

  /** One of the values by itself. */
  part<K extends keyof S>(key: K): Value<S[K]> {
    return {
      get: () => this.get()[key],
      set: (value) => this.patch({ [key]: value } as unknown as Partial<S>),
      subscribe: (listener) => this.watch(key, listener),
    };
  }
}
