type Listener<A extends readonly unknown[]> = (...values: A) => void;

interface Named<A extends readonly unknown[]> {
  readonly listeners: Set<Listener<A>>;
  /** What brings messages to them. */
  readonly source: Disposable | undefined;
}

/** Listeners by name. */
export class Listeners<A extends readonly unknown[] = []> {
  readonly #byName = new Map<string, Named<A>>();

  /** Calls the listeners of a name. */
  notify(name: string, ...values: A): void {
    for (const listener of this.#byName.get(name)?.listeners ?? []) listener(...values);
  }

  /** Calls all listeners. */
  notifyAll(...values: A): void {
    for (const name of this.#byName.keys()) this.notify(name, ...values);
  }

  /**
   * Adds a listener until disposed.
   *
   * @param openSource called with the first listener of a name; the result is disposed of with the last one
   */
  add(name: string, listener: Listener<A>, openSource?: () => Disposable): Disposable {
    const named = this.#byName.get(name) ?? { listeners: new Set(), source: openSource?.() };
    this.#byName.set(name, named);
    // Wrapped, so that the same function can be added twice.
    const entry: Listener<A> = (...values) => listener(...values);
    named.listeners.add(entry);
    return {
      [Symbol.dispose]: () => {
        if (!named.listeners.delete(entry) || named.listeners.size > 0) return;
        this.#byName.delete(name);
        named.source?.[Symbol.dispose]();
      },
    };
  }
}
