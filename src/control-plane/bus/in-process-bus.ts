import type { Bus, Topic } from "./bus.ts";

type Listener = (assetUuid: string | undefined) => void;

/** A bus for one process. */
export class InProcessBus implements Bus {
  readonly state = "local";
  readonly #listeners = new Map<Topic, Set<Listener>>();

  publish(topic: Topic): void {
    this.#call(topic, undefined);
  }

  subscribe(topic: Topic, listener: () => void): Disposable {
    return this.#add(topic, listener);
  }

  publishWake(instanceId: string, assetUuid: string): void {
    this.#call(`wake.${instanceId}`, assetUuid);
  }

  subscribeWakes(instanceId: string, listener: Listener): Disposable {
    return this.#add(`wake.${instanceId}`, listener);
  }

  #call(topic: Topic, assetUuid: string | undefined): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener(assetUuid);
  }

  #add(topic: Topic, listener: Listener): Disposable {
    const listeners = this.#listeners.get(topic) ?? new Set();
    // Wrapped, so that the same function can subscribe twice.
    const entry: Listener = (assetUuid) => listener(assetUuid);
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
