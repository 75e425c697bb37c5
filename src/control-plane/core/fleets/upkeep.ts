import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import { isLastWave } from "./progress.ts";
import type { Fleet } from "./fleet.ts";
import type { Rollout } from "./rollout.ts";
import type { Target } from "./target.ts";

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
