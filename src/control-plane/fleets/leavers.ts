import type { Clock } from "../../lib/clock.ts";
import { Latch } from "../../lib/latch.ts";
import type { Logger } from "../../lib/logger.ts";
import { parseSelector, type SelectorTerm } from "../../protocol/selector.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import type { Store } from "../store/store.ts";
import { logStoreError, storeRetryDelayMs } from "../store/unavailable.ts";

/** Assets, and fleets, that are read at a time. */
const PAGE = 500;
/** Shortest time between two looks: many assets may be tagged one after the other. */
const LOOK_INTERVAL_MS = 5_000;
const IDLE_MS = 10 * 60_000;

/**
 * Ends the ownership of assets that have left the fleet: their apps are nobody's.
 *
 * @param onFreed called with these assets
 */
export async function releaseLeavers(
  fleets: Store["fleets"],
  fleet: Fleet,
  selector: readonly SelectorTerm[],
  onFreed: (assetUuids: readonly string[]) => void,
): Promise<void> {
  for (let isAll = false; !isAll;) {
    const leavers = await fleets.releaseLeavers(fleet, selector, PAGE);
    onFreed(leavers);
    isAll = leavers.length < PAGE;
  }
}

export interface LeaversOptions {
  readonly store: Pick<Store, "fleets">;
  readonly accountId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the fleet has a rollout or upkeep under way, which looks after its leavers. */
  readonly hasRunner: (fleetId: string) => boolean;
  readonly onFreed: (assetUuids: readonly string[]) => void;
}

/**
 * Looks after the leavers of those fleets of an account that have neither a rollout nor upkeep under way, such as after a first
 * rollout that failed: rollouts of other fleets wait for the apps of such assets.
 */
export class Leavers implements Disposable {
  readonly #options: LeaversOptions;
  readonly #latch = new Latch();
  #isClosed = false;

  constructor(options: LeaversOptions) {
    this.#options = options;
    void this.#run();
  }

  /** Says that assets may have left a fleet. */
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
    const { store, accountId, hasRunner, onFreed } = this.#options;
    for (let after: string | undefined; ;) {
      const page = await store.fleets.listFleets(accountId, PAGE, after);
      for (const fleet of page) {
        if (this.#isClosed) return;
        const selector = parseSelector(fleet.selector);
        if (selector.ok && !hasRunner(fleet.id)) await releaseLeavers(store.fleets, fleet, selector.terms, onFreed);
      }
      if (page.length < PAGE) return;
      after = page.at(-1)?.name;
    }
  }
}
