/*
 * Bytes per day that connecting may cost (a token bucket). Each handshake costs some kilobytes; on an unstable line
 * they could use up a data plan, since the backoff starts over after every session of a minute.
 */

/** Remaining budget for connecting. */
export interface ReconnectBudget {
  /** Bytes; negative if overspent. */
  readonly bytes: number;
  /** Time of this balance, in monotonic milliseconds. */
  readonly atMs: number;
}

const DAY_MS = 86_400_000;

/** The budget of this duration can accumulate, so that a device may connect often for a while. */
const MAX_SAVED_MS = 6 * 3_600_000;

/** Longest pause for lack of budget, in milliseconds: the device must become reachable again. */
export const MAX_COST_PAUSE_MS = 15 * 60_000;

/** Returns a full budget. */
export function fullBudget(bytesPerDay: number, nowMs: number): ReconnectBudget {
  return { bytes: (bytesPerDay * MAX_SAVED_MS) / DAY_MS, atMs: nowMs };
}

/** Returns the budget after an attempt of the given cost in bytes. */
export function chargeAttempt(
  budget: ReconnectBudget,
  cost: number,
  bytesPerDay: number,
  nowMs: number,
): ReconnectBudget {
  const maxBytes = fullBudget(bytesPerDay, nowMs).bytes;
  const earned = (bytesPerDay * Math.max(0, nowMs - budget.atMs)) / DAY_MS;
  // The debt is limited to what the longest pause pays off; otherwise it could last for days.
  const minBytes = -(bytesPerDay * MAX_COST_PAUSE_MS) / DAY_MS;
  return { bytes: Math.max(minBytes, Math.min(maxBytes, budget.bytes + earned) - cost), atMs: nowMs };
}

/** Returns the pause until the budget covers an attempt of the given cost, in milliseconds. */
export function pauseForBudgetMs(budget: ReconnectBudget, cost: number, bytesPerDay: number): number {
  if (budget.bytes >= cost) return 0;
  if (bytesPerDay <= 0) return MAX_COST_PAUSE_MS;
  return Math.min(MAX_COST_PAUSE_MS, Math.ceil(((cost - budget.bytes) / bytesPerDay) * DAY_MS));
}
