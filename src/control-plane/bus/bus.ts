/**
 * Publishes that the store has something new. A message has no content and may be spurious: subscribers read the store.
 */
export interface Bus {
  publish(topic: string): void;
  /** Calls `listener` after each `publish` of the topic, until disposed. The listener must not throw. */
  subscribe(topic: string, listener: () => void): Disposable;
}
