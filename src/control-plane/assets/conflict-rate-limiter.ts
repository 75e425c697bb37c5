import type { Clock } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { Observer } from "../metrics/observer.ts";

/** Maximum registrations per hour of one account refused because another account has the identifier. */
export const MAX_CONFLICTS_PER_HOUR = 20;
const WINDOW_MS = 3_600_000;

/** Slows down accounts that probe identifiers of others. Uses no memory for accounts without conflicts. */
export class ConflictRateLimiter {
  readonly #clock: Clock;
  readonly #observer: Pick<Observer, "bounded"> | undefined;
  readonly #windows = new Map<string, { readonly endsAt: number; count: number }>();

  constructor(clock: Clock, observer?: Pick<Observer, "bounded">) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Error: `TooManyRequests` after too many conflicts, until an hour after the first. */
  requireAllowed(accountId: string): void {
    const window = this.#windows.get(accountId);
    if (!window) return;
    const leftMs = window.endsAt - this.#clock.monotonic();
    if (leftMs <= 0) this.#windows.delete(accountId);
    else if (window.count >= MAX_CONFLICTS_PER_HOUR) {
      this.#observer?.bounded("registration_conflicts");
      throw new EdgeError("TooManyRequests", "Too many registrations were refused; try again later.", {
        retry_after_s: Math.ceil(leftMs / 1000),
      });
    }
  }

  /** Counts a conflict: the account was refused an identifier of another account. */
  record(accountId: string): void {
    const window = this.#windows.get(accountId) ?? { endsAt: this.#clock.monotonic() + WINDOW_MS, count: 0 };
    window.count++;
    this.#windows.set(accountId, window);
  }
}
