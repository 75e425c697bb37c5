import { type Clock, pause } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Logger } from "../../lib/logger.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";

/** Time without a write before the store is scrubbed, and maximum delay if writes go on. */
const MIN_QUIET_MS = 10_000;
const MAX_DELAY_MS = 5 * 60_000;
/** Delay before a retry, such as on a full disk. */
const RETRY_DELAY_MS = 5 * 60_000;
const SWEEP_INTERVAL_MS = 12 * 3_600_000;

export interface StoreScrubberOptions {
  readonly store: Pick<NotifyingStore, "hasResidualData" | "scrub" | "onResidualData">;
  /** Removes expired copies of damaged databases. Returns whether there were any. */
  readonly removeExpiredQuarantine: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Removes residual data from the store's files: secret values that no record has any more. Overwrites them after 10 s
 * without a write, after 5 min at the latest. Writes nothing if there are none.
 */
export class StoreScrubber {
  readonly #options: StoreScrubberOptions;
  #timer: Disposable | undefined;
  #dueSince: number | undefined;
  #hasFailed = false;

  constructor(options: StoreScrubberOptions) {
    this.#options = options;
  }

  /** Runs until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#options;
    using _changes = store.onResidualData(() => this.#schedule());
    this.#schedule();
    while (!signal.aborted) {
      this.#removeExpiredCopies();
      await pause(clock, SWEEP_INTERVAL_MS, signal);
    }
    this.#timer?.[Symbol.dispose]();
  }

  #schedule(): void {
    const { store, clock } = this.#options;
    if (!store.hasResidualData || this.#hasFailed) return;
    const now = clock.monotonic();
    this.#dueSince ??= now;
    this.#arm(Math.min(MIN_QUIET_MS, Math.max(0, this.#dueSince + MAX_DELAY_MS - now)));
  }

  #arm(ms: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#options.clock.timer(ms, () => this.#scrub());
  }

  #scrub(): void {
    const { store, clock, logger } = this.#options;
    const startedAt = clock.monotonic();
    try {
      store.scrub();
      this.#dueSince = undefined;
      this.#hasFailed = false;
      const ms = Math.round(clock.monotonic() - startedAt);
      logger.info({ ms }, "removed values that apps no longer use from the agent's store");
    } catch (error) {
      const reason = errorText(error);
      const text =
        "values that apps no longer use could not be removed from the agent's store; trying again. See: edge-agent doctor (disk)";
      logger[this.#hasFailed ? "debug" : "warn"]({ reason }, text);
      this.#hasFailed = true;
      this.#arm(RETRY_DELAY_MS);
    }
  }

  #removeExpiredCopies(): void {
    const { removeExpiredQuarantine, logger } = this.#options;
    try {
      if (removeExpiredQuarantine()) logger.info("removed the copy of a damaged store, which was 30 days old");
    } catch (error) {
      const reason = errorText(error);
      logger.warn({ reason }, "the copy of a damaged store is 30 days old and cannot be removed; remove it by hand");
    }
  }
}
