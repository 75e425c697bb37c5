import type { Clock } from "../../lib/clock.ts";
import { Latch } from "../../lib/latch.ts";
import type { Logger } from "../../lib/logger.ts";
import { parseSelector } from "../../protocol/fleets/selector.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import type { Store } from "../store/store.ts";
import { logStoreError, storeRetryDelayMs } from "../store/unavailable.ts";

/** Assets, and fleets, that are read at a time. */
const PAGE = 500;
/** Shortest time between two looks: many assets may be tagged one after the other. */
const LOOK_INTERVAL_MS = 5_000;
const IDLE_MS = 10 * 60_000;

export interface LeaversOptions {
  readonly store: Pick<Store, "fleets">;
  readonly accountId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with assets of which a fleet has released apps: others may own these now. */
  readonly onFreed: (assetUuids: readonly string[]) => void;
}

/**
 * Ends the ownership of apps that are a fleet's no more: those of assets that have left a fleet of the account, and those that were
 * taken off a fleet's list. They belong to no fleet from then on. Also where the fleet has neither a
 * rollout nor upkeep under way, such as after a first rollout that failed: rollouts of other fleets wait for those apps.
 */
export class Leavers implements Disposable {
  readonly #options: LeaversOptions;
  readonly #latch = new Latch();
  #isClosed = false;

  constructor(options: LeaversOptions) {
    this.#options = options;
    void this.#run();
  }

  /** Says that assets may have left a fleet, or that a fleet may have been changed. */
  readonly notify = (): void => this.#latch.set();

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#latch.set();
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    for (let failures = 0; !this.#isClosed;) {
      try {
        await this.#latch.wait(clock, IDLE_MS);
        if (!this.#isClosed) await this.#release();
        failures = 0;
        if (!this.#isClosed) await clock.sleep(LOOK_INTERVAL_MS);
      } catch (error) {
        logStoreError(logger, error, {}, "cannot end the ownership of assets that left a fleet; trying again");
        this.#latch.set();
        await clock.sleep(storeRetryDelayMs(failures++, Math.random()));
      }
    }
  }

  async #release(): Promise<void> {
    const { store, accountId } = this.#options;
    for (let after: string | undefined; ;) {
      const page = await store.fleets.listFleets(accountId, PAGE, after);
      for (const fleet of page) await this.#releaseFrom(fleet);
      if (page.length < PAGE) return;
      after = page.at(-1)?.name;
    }
  }

  async #releaseFrom(fleet: Fleet): Promise<void> {
    const { store, logger } = this.#options;
    const selector = parseSelector(fleet.selector);
    // The others must not wait for this one.
    if (!selector.ok)
      return logger.error({ fleet_id: fleet.id, reason: selector.reason }, "the selector of a fleet is not valid");
    const { fleets } = store;
    await this.#repeat(() => fleets.releaseLeavers(fleet, selector.terms, PAGE));
    await this.#repeat(() => fleets.releaseDroppedApps(fleet.id, PAGE));
  }

  /** Repeats this until it has released all. */
  async #repeat(release: () => Promise<readonly string[]>): Promise<void> {
    while (!this.#isClosed) {
      const freed = await release();
      this.#options.onFreed(freed);
      if (freed.length < PAGE) return;
    }
  }
}
