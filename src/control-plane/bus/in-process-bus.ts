import type { Bus } from "./bus.ts";

/** A bus for one process. */
export class InProcessBus implements Bus {
  readonly #listeners = new Map<string, Set<() => void>>();

  publish(topic: string): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener();
  }

  subscribe(topic: string, listener: () => void): Disposable {
    const listeners = this.#listeners.get(topic) ?? new Set();
    // Wrapped, so that the same function can subscribe twice.
    const entry = (): void => listener();
    listeners.add(entry);
    this.#listeners.set(topic, listeners);
    return {
      [Symbol.dispose]: () => {
        listeners.delete(entry);
        if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic);
      },
    };
  }
}
