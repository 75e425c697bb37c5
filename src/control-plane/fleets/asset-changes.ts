import type { Clock } from "../../lib/clock.ts";
import { Latch } from "../../lib/latch.ts";
import type { Logger } from "../../lib/logger.ts";
import type { NewAccountEvent } from "../core/account-event.ts";
import type { AccountEventPage } from "../store/account-events.ts";
import { logStoreError, storeRetryDelayMs } from "../store/unavailable.ts";

const BATCH = 500;
/** Events that come close together are read together. */
const PAUSE_MS = 20;
/** A store that other instances use is read this often, since messages between instances may be lost. */
const POLL_MS = 1_000;
const IDLE_MS = 60_000;
const MAX_ROLLOUT_STATES = 1_000;

/** The events after which a target of the asset has to be looked at. */
const ABOUT_TARGETS: ReadonlySet<NewAccountEvent["type"]> = new Set<NewAccountEvent["type"]>([
  "device.connected",
  "device.disconnected",
  "device.reported",
  "device.replaced",
  "asset.accepted",
  "deployment.ended",
  "asset.changed",
]);

/** The events after which other assets may be members of a fleet. */
const ABOUT_MEMBERS: ReadonlySet<NewAccountEvent["type"]> = new Set<NewAccountEvent["type"]>([
  "asset.registered",
  "asset.changed",
  "asset.removed",
]);

/** Hears what happens in an account, as far as its rollouts are concerned. */
export interface AssetChangesListener {
  readonly onAsset: (assetUuid: string) => void;
  readonly onMembership: () => void;
  /** A fleet was created, changed or removed. What it throws has the events read again. */
  readonly onFleet: (name: string) => Promise<void>;
  /** A rollout has another state, or was created. */
  readonly onRollout: () => void;
  /** Events are missing: anything may have happened. */
  readonly onMissed: () => void;
}

export interface AssetChangesOptions {
  readonly read: (after: number, limit: number) => Promise<AccountEventPage>;
  readonly subscribe: (listener: () => void) => Disposable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isShared: boolean;
  readonly listener: AssetChangesListener;
}

/** Reads the events of an account, from now on, for those who look after its rollouts. */
export class AssetChanges implements Disposable {
  readonly #options: AssetChangesOptions;
  readonly #latch = new Latch();
  readonly #subscription: Disposable;
  /** The last states that were told of, of the rollouts that changed last. */
  readonly #rolloutStates = new Map<string, string>();
  #isClosed = false;

  constructor(options: AssetChangesOptions) {
    this.#options = options;
    this.#subscription = options.subscribe(this.#latch.set);
    void this.#run();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#subscription[Symbol.dispose]();
    this.#latch.set();
  }

  async #run(): Promise<void> {
    const { clock, logger, isShared } = this.#options;
    let cursor: number | undefined;
    for (let failures = 0; !this.#isClosed;) {
      try {
        cursor = await this.#readOn(cursor);
        failures = 0;
        await this.#latch.wait(clock, isShared ? POLL_MS : IDLE_MS);
        await clock.sleep(PAUSE_MS);
      } catch (error) {
        logStoreError(logger, error, {}, "cannot read the events of an account; trying again");
        await clock.sleep(storeRetryDelayMs(failures++, Math.random()));
      }
    }
  }

  /** Reads what is new. Returns the id of the last event. */
  async #readOn(cursor: number | undefined): Promise<number> {
    const { read, listener } = this.#options;
    if (cursor === undefined) {
      const { lastId } = await read(Number.MAX_SAFE_INTEGER, 1);
      // What happened before is on record.
      listener.onMissed();
      return lastId;
    }
    for (let after = cursor; ;) {
      const page = await read(after, BATCH);
      if (after < page.removedTo || after > page.lastId) {
        listener.onMissed();
        return Math.max(page.lastId, page.removedTo);
      }
      await this.#tell(page);
      const last = page.events.at(-1)?.id ?? after;
      if (!page.hasMore) return Math.max(last, page.lastId);
      after = last;
    }
  }

  /** Whether the rollout has another state than before: it may only be in another wave. */
  #isNews({ rollout_id: id, state }: Extract<NewAccountEvent, { type: "rollout.changed" }>): boolean {
    const isNews = this.#rolloutStates.get(id) !== state;
    this.#rolloutStates.delete(id);
    this.#rolloutStates.set(id, state);
    const [oldest] = this.#rolloutStates.keys();
    if (this.#rolloutStates.size > MAX_ROLLOUT_STATES && oldest !== undefined) this.#rolloutStates.delete(oldest);
    return isNews;
  }

  async #tell({ events }: AccountEventPage): Promise<void> {
    const { onAsset, onMembership, onFleet, onRollout } = this.#options.listener;
    if (this.#isClosed) return;
    for (const { event } of events) if (ABOUT_TARGETS.has(event.type) && "asset_id" in event) onAsset(event.asset_id);
    if (events.some(({ event }) => ABOUT_MEMBERS.has(event.type))) onMembership();
    const fleets = new Set(events.flatMap(({ event }) => (event.type === "fleet.changed" ? [event.fleet] : [])));
    for (const name of fleets) await onFleet(name);
    for (const { event } of events) if (event.type === "rollout.changed" && this.#isNews(event)) onRollout();
  }
}
