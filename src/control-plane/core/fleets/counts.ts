import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import type { TargetCount } from "./changes.ts";
import type { Rollout } from "./rollout.ts";

/** Adds up the counts of the groups that match. */
export function countTargets(counts: readonly TargetCount[], matches: (group: TargetCount) => boolean): number {
  return counts.reduce((total, group) => (matches(group) ? total + group.count : total), 0);
}

/** Number of targets that have failed or are lost on their way to the revision. */
export function countFailures(counts: readonly TargetCount[]): number {
  return countTargets(counts, (group) => group.direction === "forward" && isFailure(group));
}

export function isFailure({ state }: Pick<TargetCount, "state">): boolean {
  return state === "failed" || state === "lost";
}

/** Whether a deployment is under way there, as far as the service knows. */
export function isUnderWay({ state, waitsFor }: Pick<TargetCount, "state" | "waitsFor">): boolean {
  return state === "deploying" || (state === "waiting" && waitsFor === "budget");
}

/** Whether something is still to happen to the target before the rollout can end. */
export function isUnfinished({ state }: Pick<TargetCount, "state">): boolean {
  return state === "pending" || state === "waiting" || state === "deploying" || state === "soaking";
}

/**
 * Number of places among `max_parallel` that are taken: by deployments under way, also those that wait for a device's budget,
 * and in a running rollout by lost targets, until a person lets the rollout go on in spite of them. Targets that soak
 * have no place: their deployments have ended, and a soak may take days. Going back and upkeep are not held up by lost devices.
 */
export function placesTaken(
  { kind, state, acceptedFailures }: Pick<Rollout, "kind" | "state" | "acceptedFailures">,
  counts: readonly TargetCount[],
): number {
  const underWay = countTargets(counts, isUnderWay);
  if (kind === "upkeep" || state === "rolling_back" || isRolloutOver({ state })) return underWay;
  const lost = countTargets(counts, (group) => group.state === "lost");
  return underWay + Math.max(0, lost - acceptedFailures);
}

/** Whether a coordinator has to look after the rollout: it is not over, or its targets are still under way. */
export function isStillActive({ state }: Pick<Rollout, "state">, counts: readonly TargetCount[]): boolean {
  return !isRolloutOver({ state }) || counts.some((group) => group.count > 0 && isUnfinished(group));
}

/**
 * Returns the counts as they will be once every target of a rollout that is over was looked at: what had not begun never does.
 * People see those at once.
 */
export function settledCounts(
  { state }: Pick<Rollout, "state">,
  counts: readonly TargetCount[],
): readonly TargetCount[] {
  if (!isRolloutOver({ state })) return counts;
  return counts.map((group) => {
    const isOpen = group.state === "pending" || (group.state === "waiting" && !isUnderWay(group));
    if (!isOpen || group.wasAttempted) return group;
    return { ...group, state: state === "succeeded" ? "deferred" : "skipped", waitsFor: undefined };
  });
}
