import type { Clock } from "../../lib/clock.ts";
import { chargeAttempt, pauseForBudgetMs, fullBudget, type ReconnectBudget } from "../core/link/reconnect-budget.ts";

/** Delays connection attempts by the data they use. */
export interface ReconnectLimiter {
  /** Charges an attempt and returns the delay before the next one, in milliseconds. */
  pauseAfter(bytes: number): number;
}

/** @param bytesPerDay returns the budget for connecting on the current network; `undefined` for no limit */
export function createReconnectLimiter(clock: Clock, bytesPerDay: () => number | undefined): ReconnectLimiter {
  let budget: ReconnectBudget | undefined;
  return {
    pauseAfter(bytes) {
      const now = clock.monotonic();
      const allowance = bytesPerDay();
      if (allowance === undefined) {
        budget = undefined;
        return 0;
      }
      budget = chargeAttempt(budget ?? fullBudget(allowance, now), bytes, allowance, now);
      return pauseForBudgetMs(budget, bytes, allowance);
    },
  };
}
