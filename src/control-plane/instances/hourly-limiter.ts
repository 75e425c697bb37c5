import type { Clock } from "../../lib/clock.ts";
import type { SharedCount } from "../../lib/concurrency-limiter.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";

const WINDOW_MS = 3_600_000;

export interface HourlyLimiterOptions {
  readonly clock: Clock;
  /** Maximum for one account. */
  readonly max: number;
  /** What the client is told beyond it. */
  readonly message: string;
  /** The same count at other instances. */
  readonly shared?: SharedCount | undefined;
  /** Called for each refusal. */
  readonly onRefused?: (() => void) | undefined;
}

/** Bounds what one account may have of something in an hour. Uses no memory for accounts without any. */
export class HourlyLimiter {
  readonly #options: HourlyLimiterOptions;
  readonly #windows = new Map<string, { readonly endsAt: number; count: number }>();

  constructor(options: HourlyLimiterOptions) {
    this.#options = options;
  }

  /** Error: `TooManyRequests` after too many, until an hour after the first. */
  requireAllowed(accountId: string): void {
    const { clock, max, message, shared, onRefused } = this.#options;
    const others = shared?.others(accountId) ?? 0;
    const window = this.#windows.get(accountId);
    const leftMs = window ? window.endsAt - clock.monotonic() : WINDOW_MS;
    if (leftMs <= 0) this.#windows.delete(accountId);
    const own = window && leftMs > 0 ? window.count : 0;
    if (own + others < max) return;
    onRefused?.();
    throw new EdgeError("TooManyRequests", message, {
      retry_after_s: Math.ceil((leftMs > 0 ? leftMs : WINDOW_MS) / 1000),
    });
  }

  /** Counts one. */
  record(accountId: string): void {
    const { clock, shared } = this.#options;
    const now = clock.monotonic();
    const window = this.#windows.get(accountId) ?? { endsAt: now + WINDOW_MS, count: 0 };
    window.count++;
    this.#windows.set(accountId, window);
    shared?.set(accountId, window.count, window.endsAt - now);
  }
}
