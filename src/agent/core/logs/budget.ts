/** What one request for a log may cost on the wire, in bytes. */
export interface LogLimits {
  readonly bytesPerSecond: number;
  readonly totalBytes: number;
}

/** How many seconds' worth may go at once after a time of silence. */
const BURST_SECONDS = 4;

/** Keeps count of the bytes of one log on the wire. Times are monotonic milliseconds. */
export class LogBudget {
  readonly #limits: LogLimits;
  #tokens: number;
  #filledAt: number;
  #left: number;

  constructor(limits: LogLimits, now: number) {
    this.#limits = limits;
    this.#tokens = limits.bytesPerSecond * BURST_SECONDS;
    this.#filledAt = now;
    this.#left = limits.totalBytes;
  }

  /** Whether so many bytes would be more than there may be in all. */
  isExhausted(bytes: number): boolean {
    return bytes > this.#left;
  }

  /** Milliseconds until so many bytes may go; 0 where they may at once. */
  delay(bytes: number, now: number): number {
    this.#fill(now);
    // What is larger than everything that fits may go when all is there.
    const missing = Math.min(bytes, this.#limits.bytesPerSecond * BURST_SECONDS) - this.#tokens;
    return missing <= 0 ? 0 : Math.ceil((missing / this.#limits.bytesPerSecond) * 1000);
  }

  spend(bytes: number, now: number): void {
    this.#fill(now);
    this.#tokens -= bytes;
    this.#left -= bytes;
  }

  #fill(now: number): void {
    const { bytesPerSecond } = this.#limits;
    const earned = ((now - this.#filledAt) / 1000) * bytesPerSecond;
    this.#tokens = Math.min(bytesPerSecond * BURST_SECONDS, this.#tokens + earned);
    this.#filledAt = now;
  }
}
