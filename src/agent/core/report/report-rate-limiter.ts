/** Number of reports that may be sent at once. */
const MAX_BURST_REPORTS = 6;
const HOUR_MS = 3_600_000;

/** Token bucket for unrequested reports: an app in a crash loop must not use up the data plan. */
export class ReportRateLimiter {
  readonly #perHour: number;
  #tokens = MAX_BURST_REPORTS;
  #filledAt: number;

  /** @param now monotonic milliseconds, as in all methods */
  constructor(perHour: number, now: number) {
    this.#perHour = perHour;
    this.#filledAt = now;
  }

  /** Milliseconds until a report may be sent; 0 if now. */
  delay(now: number): number {
    this.#fill(now);
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) * HOUR_MS) / this.#perHour);
  }

  /** Returns whether a report may be sent now, and counts it. */
  take(now: number): boolean {
    if (this.delay(now) > 0) return false;
    this.#tokens -= 1;
    return true;
  }

  #fill(now: number): void {
    this.#tokens = Math.min(MAX_BURST_REPORTS, this.#tokens + ((now - this.#filledAt) / HOUR_MS) * this.#perHour);
    this.#filledAt = now;
  }
}
