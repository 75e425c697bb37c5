import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { Repeat } from "../../lib/repeat.ts";
import { type AccountEventStore, EVENTS_KEPT_MS, MAX_EVENTS_PER_ACCOUNT } from "../store/account-events.ts";
import { logStoreError } from "../store/unavailable.ts";

/** Pause between two rounds. What an account stores above its bound meanwhile is little. */
const INTERVAL_MS = 60_000;

export interface EventRetentionOptions {
  readonly store: Pick<AccountEventStore, "prune">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether this instance is to do it now. */
  readonly acquire: () => Promise<boolean>;
}

/** Removes old events of accounts, and those beyond the bound, every minute from its creation until disposed. */
export class EventRetention implements Disposable {
  readonly #options: EventRetentionOptions;
  readonly #repeat: Repeat;

  constructor(options: EventRetentionOptions) {
    this.#options = options;
    this.#repeat = new Repeat(options.clock, INTERVAL_MS, () => this.#prune());
  }

  [Symbol.dispose](): void {
    this.#repeat[Symbol.dispose]();
  }

  async #prune(): Promise<void> {
    const { store, clock, logger, acquire } = this.#options;
    try {
      if (!(await acquire())) return;
      const count = await store.prune(clock.deletionTime() - EVENTS_KEPT_MS);
      if (count > 0)
        logger.warn(
          { count, most: MAX_EVENTS_PER_ACCOUNT },
          "events of accounts were removed early: there are too many",
        );
    } catch (error) {
      logStoreError(logger, error, {}, "cannot remove old events of accounts; trying again in a minute");
    }
  }
}
