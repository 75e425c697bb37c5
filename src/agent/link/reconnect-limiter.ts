import type { Clock } from "../../lib/clock.ts";
import { chargeAttempt, pauseForBudgetMs, fullBudget, type ReconnectBudget } from "../core/link/reconnect-budget.ts";

/** Slows attempts to connect down by what they cost. */
export interface ReconnectLimiter {
  /** Takes note of an attempt that cost so many bytes, and answers how long to wait before the next, in milliseconds. */
  pauseAfter(bytes: number): number;
}

/** @param bytesPerDay what may be spent on connecting where the device is now; `undefined` for as much as it takes */
export function createReconnectLimiter(clock: Clock, bytesPerDay: () => number | undefined): ReconnectLimiter {
  let purse: ReconnectBudget | undefined;
  return {
    pauseAfter(bytes) {
      const now = clock.monotonic();
      const allowance = bytesPerDay();
      if (allowance === undefined) {
        purse = undefined;
        return 0;
      }
      purse = chargeAttempt(purse ?? fullBudget(allowance, now), bytes, allowance, now);
      return pauseForBudgetMs(purse, bytes, allowance);
    },
  };
}
