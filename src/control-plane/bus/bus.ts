/**
 * What a message is about. `events`: a deployment has a new event. `account`: an account has new events. `wake`: something waits for
 * a device of this instance. `session`: sessions of this instance may have been replaced. `access`: a key or token may have been
 * revoked. `fleets`: a fleet or a rollout has changed, which is for the coordinator of rollouts. `counters`: shared counts have
 * changed.
 */
export type Topic =
  | `events.${string}`
  | `account.${string}`
  | `wake.${string}`
  | `session.${string}`
  | "access"
  | "fleets"
  | "counters";

/** `local`: one process, nothing can be lost. `up`, `down`: whether messages reach other instances. */
export type BusState = "local" | "up" | "down";

/**
 * Publishes that the store has something new. A message may be lost, repeated or spurious: subscribers read the store. No
 * listener may throw.
 */
export interface Bus {
  readonly state: BusState;
  /** Calls local listeners at once, and those of other instances if they can be reached. */
  publish(topic: Topic): void;
  /**
   * Calls `listener` after each `publish` of the topic, each reconnect of the bus, and when messages were too many, until
   * disposed.
   */
  subscribe(topic: Topic, listener: () => void): Disposable;
  /** Reports to an instance, under the topic `wake.<instance>`, that something waits to be delivered to a device. */
  publishWake(instanceId: string, assetUuid: string): void;
  /**
   * @param listener called with the device; after a reconnect of the bus, or if messages were too many, with `undefined`: any
   * device may be meant
   */
  subscribeWakes(instanceId: string, listener: (assetUuid: string | undefined) => void): Disposable;
}
