// A value's listeners. One that throws harms neither the others nor the socket: its error is thrown outside, where it is seen.

/** Listeners of one kind of news. */
export class Signal<T> {
  readonly #listeners = new Set<(value: T) => void>();

  /** Adds a listener; the function that comes back removes it. */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells all of them. */
  emit(value: T): void {
    for (const listener of [...this.#listeners]) guarded(() => listener(value));
  }
}

/** Runs code of the user; what it throws becomes an uncaught error. */
export function guarded<R>(run: () => R): R | undefined {
  try {
    return run();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
    return undefined;
  }
}
