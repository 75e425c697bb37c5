import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import { isLastWave } from "./progress.ts";
import type { Fleet } from "./fleet.ts";
import type { Rollout, Target } from "./rollout.ts";
import type { Judgement } from "./judge-member.ts";

/** What decides whether the fleet's upkeep serves a member. */
export interface UpkeepInput {
  readonly fleet: Pick<Fleet, "stableRevision" | "pausedReason">;
  /** The fleet's newest rollout and the member's target in it; `undefined`: there is none. */
  readonly rollout: Pick<Rollout, "state" | "wave" | "strategy"> | undefined;
  readonly target: Pick<Target, "state"> | undefined;
  /** The member's target in the upkeep, and the revision that it is for; `undefined`: it was never served. */
  readonly served: { readonly state: Target["state"]; readonly revision: number } | undefined;
  /** The revision that it was last seen running as a whole; `undefined`: none. */
  readonly memberRevision: number | undefined;
}

/**
 * Returns why the fleet's upkeep brings its stable revision to a member, with a target of its own; `undefined` if it does not.
 *
 * `joined`: it runs no revision of the fleet and the rollout has not reached it. `returned`: the last rollout ended without it.
 * A member on which a rollout has failed, which refused it, or which was changed by hand is not put right silently: that takes
 * another rollout, or a person who asks for it.
 */
export function needsUpkeep(input: UpkeepInput): "joined" | "returned" | undefined {
  const { fleet, rollout, target, served, memberRevision } = input;
  const { stableRevision } = fleet;
  if (stableRevision === undefined || fleet.pausedReason !== undefined) return undefined;
  // Tried already, with whatever outcome: a deferred one is still there and is served on its return.
  if (served?.revision === stableRevision && served.state !== "skipped") return undefined;
  if (rollout === undefined || isRolloutOver(rollout)) {
    if (target !== undefined && missedIt(target)) return memberRevision === stableRevision ? undefined : "returned";
    return target === undefined && memberRevision === undefined ? "joined" : undefined;
  }
  // It gets the new revision in the last wave anyway.
  if (rollout.state === "rolling_back" || isLastWave(rollout)) return undefined;
  const isUntouched = target === undefined || target.state === "pending";
  return memberRevision === undefined && isUntouched ? "joined" : undefined;
}

/** Whether the rollout ended without having decided about the target. */
function missedIt({ state }: Pick<Target, "state">): boolean {
  return state === "deferred" || state === "lost";
}

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

type RepairDecision =
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
