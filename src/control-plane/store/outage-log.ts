import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { StoreUnavailableError } from "./unavailable.ts";

/** How long no call must have failed before an outage counts as over. Shorter gaps belong to the same one. */
const QUIET_MS = 5_000;

/** Logs one line when the database cannot be reached, and one when it can be again, however many calls fail meanwhile. */
export class StoreOutageLog {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #logger: Logger;
  #outage: { readonly sinceMs: number; lastMs: number; failedCalls: number } | undefined;

  constructor(clock: Pick<Clock, "monotonic">, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Whether the last calls have failed. */
  get isOut(): boolean {
    return this.#outage !== undefined;
  }

  failed(error: StoreUnavailableError): void {
    const nowMs = this.#clock.monotonic();
    if (this.#outage) {
      this.#outage.lastMs = nowMs;
      this.#outage.failedCalls++;
      return;
    }
    this.#outage = { sinceMs: nowMs, lastMs: nowMs, failedCalls: 1 };
    this.#logger.error(
      { reason: error.message },
      "the database cannot be reached: requests are answered with 503, and everything else is tried again until it can",
    );
  }

  succeeded(): void {
    if (!this.#outage) return;
    const { sinceMs, lastMs, failedCalls } = this.#outage;
    const nowMs = this.#clock.monotonic();
    if (nowMs - lastMs < QUIET_MS) return;
    this.#outage = undefined;
    const seconds = Math.round((lastMs - sinceMs) / 1000);
    this.#logger.info({ seconds, failed_calls: failedCalls }, "the database can be reached again");
  }
}
