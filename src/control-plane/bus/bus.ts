/**
 * Tells whoever waits that there is something new in the store. A signal carries nothing and may come once too often:
 * what there is, is read from the store.
 */
export interface Bus {
  publish(topic: string): void;
  /** Calls `listener` after each `publish` of the topic, until disposed. The listener must not throw. */
  subscribe(topic: string, listener: () => void): Disposable;
}
