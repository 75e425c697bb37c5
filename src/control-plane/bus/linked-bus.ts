import { type Clock, systemClock } from "../../lib/clock.ts";
import { parseJson } from "../../lib/parse-json.ts";
import type { Bus, Topic } from "./bus.ts";
import { FloodGuard } from "./flood-guard.ts";
import { Listeners } from "./listeners.ts";
import type { LinkState, MessageLink } from "./message-link.ts";

const EMPTY = new Uint8Array();

/** UUIDs in one message, which is then half as large as a link carries. */
const MAX_WAKES_PER_MESSAGE = 4_096;

/**
 * A bus between instances. Messages are sent once for each turn of the event loop, however often they are published in it:
 * the events that are stored together wake a reader on another instance once.
 */
export class LinkedBus implements Bus, Disposable {
  /** Called for each message of other instances of which something was left out, since there are too many. */
  onLeftOut: () => void = () => {};
  readonly #link: MessageLink;
  readonly #guard: FloodGuard;
  readonly #topics = new Listeners();
  readonly #wakes = new Listeners<[assetUuid: string | undefined]>();
  readonly #unsentTopics = new Set<Topic>();
  readonly #unsentWakes = new Map<string, Set<string>>();
  readonly #onChange: Disposable;
  #flush: NodeJS.Immediate | undefined;

  constructor(link: MessageLink, clock: Clock = systemClock) {
    this.#link = link;
    // Messages were lost meanwhile.
    const notifyAll = (): void => {
      this.#topics.notifyAll();
      this.#wakes.notifyAll(undefined);
    };
    this.#guard = new FloodGuard({ clock, onLeftOut: () => this.onLeftOut(), onOver: notifyAll });
    this.#onChange = link.onChange((state) => {
      if (state === "up") notifyAll();
    });
  }

  get state(): LinkState {
    return this.#link.state;
  }

  publish(topic: Topic): void {
    this.#topics.notify(topic);
    this.#unsentTopics.add(topic);
    this.#flushSoon();
  }

  subscribe(topic: Topic, listener: () => void): Disposable {
    return this.#topics.add(topic, listener, () =>
      this.#link.listen(topic, () => {
        if (this.#guard.take(topic)) this.#topics.notify(topic);
        else this.#guard.leaveOut();
      }),
    );
  }

  publishWake(instanceId: string, assetUuid: string): void {
    this.#wakes.notify(instanceId, assetUuid);
    const assets = this.#unsentWakes.get(instanceId) ?? new Set();
    this.#unsentWakes.set(instanceId, assets.add(assetUuid));
    this.#flushSoon();
  }

  subscribeWakes(instanceId: string, listener: (assetUuid: string | undefined) => void): Disposable {
    return this.#wakes.add(instanceId, listener, () =>
      this.#link.listen(wakeSubject(instanceId), (message) => this.#receiveWakes(instanceId, message)),
    );
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#flush);
    this.#guard[Symbol.dispose]();
    this.#onChange[Symbol.dispose]();
  }

  #receiveWakes(instanceId: string, message: Uint8Array): void {
    // Nothing is decoded once there is no room.
    if (!this.#guard.hasRoom) return this.#guard.leaveOut();
    for (const asset of decodeAssets(message)) {
      if (!this.#guard.take(asset ?? wakeSubject(instanceId))) return this.#guard.leaveOut();
      this.#wakes.notify(instanceId, asset);
    }
  }

  #flushSoon(): void {
    this.#flush ??= setImmediate(() => {
      this.#flush = undefined;
      // What the link drops is lost, as any message may be.
      for (const topic of this.#unsentTopics) this.#link.send(topic, EMPTY);
      this.#unsentTopics.clear();
      for (const [instanceId, assets] of this.#unsentWakes) this.#sendWakes(instanceId, [...assets]);
      this.#unsentWakes.clear();
    });
  }

  #sendWakes(instanceId: string, assets: readonly string[]): void {
    for (let from = 0; from < assets.length; from += MAX_WAKES_PER_MESSAGE) {
      const part = assets.slice(from, from + MAX_WAKES_PER_MESSAGE);
      this.#link.send(wakeSubject(instanceId), Buffer.from(JSON.stringify(part)));
    }
  }
}

const wakeSubject = (instanceId: string): Topic => `wake.${instanceId}`;

/** A message that is not understood, as of another release, may mean any asset. */
function decodeAssets(message: Uint8Array): readonly (string | undefined)[] {
  const assets = parseJson(message, "instance");
  return Array.isArray(assets) && assets.every((asset) => typeof asset === "string") ? assets : [undefined];
}
