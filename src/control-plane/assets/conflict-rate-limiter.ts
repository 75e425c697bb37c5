import type { Clock } from "../../lib/clock.ts";
import type { SharedCount } from "../../lib/concurrency-limiter.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Observer } from "../metrics/observer.ts";

/** Maximum registrations per hour of one account refused because another account has the identifier. */
export const MAX_CONFLICTS_PER_HOUR = 20;
const WINDOW_MS = 3_600_000;

/** Slows down accounts that probe identifiers of others. Uses no memory for accounts without conflicts. */
export class ConflictRateLimiter {
  readonly #clock: Clock;
  readonly #observer: Pick<Observer, "bounded"> | undefined;
  readonly #windows = new Map<string, { readonly endsAt: number; count: number }>();

  readonly #shared: SharedCount | undefined;

  /** @param shared the same count at other instances */
  constructor(clock: Clock, shared?: SharedCount, observer?: Pick<Observer, "bounded">) {
    this.#clock = clock;
    this.#shared = shared;
    this.#observer = observer;
  }

  /** Error: `TooManyRequests` after too many conflicts, until an hour after the first. */
  requireAllowed(accountId: string): void {
    const others = this.#shared?.others(accountId) ?? 0;
    const window = this.#windows.get(accountId);
    const leftMs = window ? window.endsAt - this.#clock.monotonic() : WINDOW_MS;
    if (leftMs <= 0) this.#windows.delete(accountId);
    const own = window && leftMs > 0 ? window.count : 0;
    if (own + others < MAX_CONFLICTS_PER_HOUR) return;
    this.#observer?.bounded("registration_conflicts");
    throw new EdgeError("TooManyRequests", "Too many registrations were refused; try again later.", {
      retry_after_s: Math.ceil((leftMs > 0 ? leftMs : WINDOW_MS) / 1000),
    });
  }

  /** Counts a conflict: the account was refused an identifier of another account. */
  record(accountId: string): void {
    const now = this.#clock.monotonic();
    const window = this.#windows.get(accountId) ?? { endsAt: now + WINDOW_MS, count: 0 };
    window.count++;
    this.#windows.set(accountId, window);
    this.#shared?.set(accountId, window.count, window.endsAt - now);
  }
}
