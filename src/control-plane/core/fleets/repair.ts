import type { Fleet } from "./fleet.ts";
import type { Judgement } from "./judge-member.ts";

/*
 * Whether a fleet repairs a member by itself (`on_drift`), by a target of its upkeep: within its windows and budgets, and never against
 * a hold or a stop by hand, which are states of their own.
 */

/** How often the fleet has repaired a member since it was last current for a day. */
export interface Repairs {
  readonly count: number;
  /** When the last one was begun, Unix milliseconds; `undefined`: none was. */
  readonly lastAtMs: number | undefined;
}

export const NO_REPAIRS: Repairs = { count: 0, lastAtMs: undefined };

/** A member that was changed again after so many repairs is left alone. */
export const MAX_REPAIRS = 6;

/** Pause after the first repair. Each further one is four times as long: 5 min, 20 min, 80 min, 5 h, 21 h. */
const FIRST_PAUSE_MS = 300_000;

/** A member that was current for this time begins anew. */
const QUIET_MS = 24 * 3_600_000;

export type RepairDecision =
  | { readonly kind: "none" }
  | { readonly kind: "repair"; readonly repairs: Repairs }
  /** Not before then. */
  | { readonly kind: "later"; readonly atMs: number }
  /** It was changed again after each of them. */
  | { readonly kind: "given_up" };

/**
 * Decides whether the fleet repairs a member now.
 *
 * @param isUnderWay whether a target of the upkeep is to be served there already
 */
export function decideRepair(
  { onDrift, stableRevision, pausedReason }: Pick<Fleet, "onDrift" | "stableRevision" | "pausedReason">,
  { state }: Pick<Judgement, "state">,
  repairs: Repairs,
  isUnderWay: boolean,
  nowMs: number,
): RepairDecision {
  const isWrong = state === "drifted" || state === "missing";
  if (!isWrong || onDrift !== "repair" || stableRevision === undefined || pausedReason !== undefined || isUnderWay)
    return { kind: "none" };
  const next = nextRepair(repairs, nowMs);
  if (next === undefined) return { kind: "given_up" };
  if (next > nowMs) return { kind: "later", atMs: next };
  return { kind: "repair", repairs: { count: repairs.count + 1, lastAtMs: nowMs } };
}

/** When a member that is changed again may be repaired next; `undefined`: not until a person reapplies the fleet. */
export function nextRepair({ count, lastAtMs }: Repairs, nowMs: number): number | undefined {
  if (count === 0 || lastAtMs === undefined) return nowMs;
  return count >= MAX_REPAIRS ? undefined : lastAtMs + FIRST_PAUSE_MS * 4 ** (count - 1);
}

/** Returns the repairs that count when a member's state becomes another one. */
export function repairsAfter(
  repairs: Repairs,
  before: Pick<Judgement, "state" | "sinceMs"> | undefined,
  nowMs: number,
): Repairs {
  const wasQuiet = before?.state === "current" && nowMs - before.sinceMs >= QUIET_MS;
  return wasQuiet ? NO_REPAIRS : repairs;
}
