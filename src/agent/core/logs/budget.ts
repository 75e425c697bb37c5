/** Limits of one log request, in bytes sent. */
export interface LogLimits {
  readonly bytesPerSecond: number;
  readonly totalBytes: number;
}

/** Number of seconds' worth of bytes that may be sent at once. */
const BURST_SECONDS = 4;

/** Rate and total limit of one log request. Times are monotonic milliseconds. */
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

  /** Bytes that may still be sent in total. */
  get left(): number {
    return this.#left;
  }

  /** Whether sending this many bytes would exceed the total limit. */
  isExhausted(bytes: number): boolean {
    return bytes > this.#left;
  }

  /** Milliseconds until this many bytes may be sent; 0 if now. */
  delay(bytes: number, now: number): number {
    this.#fill(now);
    // A message larger than the bucket may be sent when the bucket is full.
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
