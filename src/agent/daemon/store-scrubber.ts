import type { Clock } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Logger } from "../../lib/logger.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";

/** How long nothing has to be written, and how long it may be put off where something always is, in milliseconds. */
const MIN_QUIET_MS = 10_000;
const MAX_DELAY_MS = 5 * 60_000;
/** Pause before another try, such as on a full disk, in milliseconds. */
const RETRY_DELAY_MS = 5 * 60_000;
const SWEEP_INTERVAL_MS = 12 * 3_600_000;

export interface StoreScrubberOptions {
  readonly store: Pick<NotifyingStore, "hasResidualData" | "scrub" | "onResidualData">;
  /** Removes copies of damaged databases that are too old. Answers whether there were any. */
  readonly removeExpiredQuarantine: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Sees to it that values which were taken from apps are in no file of the store either: overwritten when nothing has been
 * written for 10 s, 5 min later at the latest. Nothing is written where no such value was taken.
 */
export class StoreScrubber {
  readonly #options: StoreScrubberOptions;
  #timer: Disposable | undefined;
  #dueSince: number | undefined;
  #hasFailed = false;

  constructor(options: StoreScrubberOptions) {
    this.#options = options;
  }

  /** Does so until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#options;
    using _changes = store.onResidualData(() => this.#schedule());
    this.#schedule();
    while (!signal.aborted) {
      this.#removeExpiredCopies();
      await clock.sleep(SWEEP_INTERVAL_MS, signal).catch(() => {});
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
    const begun = clock.monotonic();
    try {
      store.scrub();
      this.#dueSince = undefined;
      this.#hasFailed = false;
      const ms = Math.round(clock.monotonic() - begun);
      logger.info({ ms }, "values that apps no longer have were overwritten in the agent's store");
    } catch (error) {
      const reason = errorText(error);
      const text =
        "values that apps no longer have are still in the agent's store, which could not be rewritten; it is tried again. See: edge-agent doctor (disk)";
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
