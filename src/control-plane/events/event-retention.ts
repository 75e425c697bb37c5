import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type AccountEventStore, MAX_EVENTS_PER_ACCOUNT } from "../store/account-events.ts";
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
  #timer: Disposable;
  #isDisposed = false;

  constructor(options: EventRetentionOptions) {
    this.#options = options;
    this.#timer = this.#schedule();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer[Symbol.dispose]();
  }

  #schedule(): Disposable {
    return this.#options.clock.timer(INTERVAL_MS, () => {
      void this.#prune().finally(() => {
        if (!this.#isDisposed) this.#timer = this.#schedule();
      });
    });
  }

  async #prune(): Promise<void> {
    const { store, logger, acquire } = this.#options;
    try {
      if (!(await acquire())) return;
      const count = await store.prune();
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
