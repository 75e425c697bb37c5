/*
 * Every connection costs some kilobytes for its handshakes. A line that drops all the time would spend a data plan on
 * them alone, however the pauses between attempts grow: each session that stands for a minute begins their count anew.
 */

/** What may still be spent on connecting. */
export interface ReconnectBudget {
  /** Bytes; below 0 where more was spent than there was. */
  readonly bytes: number;
  /** When that was so, monotonic milliseconds. */
  readonly atMs: number;
}

const DAY_MS = 86_400_000;

/** As much as comes in so long can be saved up: a device that was quiet may connect often for a while. */
const MAX_SAVED_MS = 6 * 3_600_000;

/** However poor a device is, it can be reached again within this time, in milliseconds. */
export const MAX_COST_PAUSE_MS = 15 * 60_000;

/** A purse as full as it can be. */
export function fullBudget(bytesPerDay: number, nowMs: number): ReconnectBudget {
  return { bytes: (bytesPerDay * MAX_SAVED_MS) / DAY_MS, atMs: nowMs };
}

/** What is left after an attempt that cost so many bytes. */
export function chargeAttempt(
  purse: ReconnectBudget,
  cost: number,
  bytesPerDay: number,
  nowMs: number,
): ReconnectBudget {
  const most = fullBudget(bytesPerDay, nowMs).bytes;
  const earned = (bytesPerDay * Math.max(0, nowMs - purse.atMs)) / DAY_MS;
  // Debts do not grow beyond what is paid off in the longest pause, or they would hold for days.
  const deepest = -(bytesPerDay * MAX_COST_PAUSE_MS) / DAY_MS;
  return { bytes: Math.max(deepest, Math.min(most, purse.bytes + earned) - cost), atMs: nowMs };
}

/** How long to wait until an attempt like the last can be paid, in milliseconds. */
export function pauseForBudgetMs(purse: ReconnectBudget, cost: number, bytesPerDay: number): number {
  if (purse.bytes >= cost) return 0;
  if (bytesPerDay <= 0) return MAX_COST_PAUSE_MS;
  return Math.min(MAX_COST_PAUSE_MS, Math.ceil(((cost - purse.bytes) / bytesPerDay) * DAY_MS));
}
