import type { Clock } from "../../lib/clock.ts";
import type { SharedCount } from "../../lib/concurrency-limiter.ts";
import { HourlyLimiter } from "../instances/hourly-limiter.ts";
import type { Observer } from "../metrics/observer.ts";

/** Maximum registrations per hour of one account refused because another account has the identifier. */
export const MAX_CONFLICTS_PER_HOUR = 20;

/** Slows down accounts that probe identifiers of others: each refusal is recorded. */
export class ConflictRateLimiter extends HourlyLimiter {
  /** @param shared the same count at other instances */
  constructor(clock: Clock, shared?: SharedCount, observer?: Pick<Observer, "bounded">) {
    super({
      clock,
      max: MAX_CONFLICTS_PER_HOUR,
      message: "Too many registrations were refused; try again later.",
      shared,
      onRefused: () => observer?.bounded("registration_conflicts"),
    });
  }
}
