import { isRolloutOver, type RolloutEvent, type TargetCounts } from "../../../protocol/rollout.ts";
import type { TargetCount } from "./changes.ts";
import type { Rollout } from "./rollout.ts";

/** Returns the number of targets by state. */
export function countsByState(counts: readonly Pick<TargetCount, "state" | "count">[]): TargetCounts {
  const sums: TargetCounts = {};
  for (const { state, count } of counts) sums[state] = (sums[state] ?? 0) + count;
  return sums;
}

/** Returns the event that tells of a rollout as it is after a change. It is the last one if the rollout is over. */
export function rolloutEvent(
  { id, state, wave }: Pick<Rollout, "id" | "state" | "wave">,
  message: string,
  counts: readonly TargetCount[],
  nowMs: number,
): Omit<RolloutEvent, "seq"> {
  return {
    status: isRolloutOver({ state }) ? (state === "succeeded" ? "Success" : "Fail") : "Running",
    message,
    rollout_id: id,
    timestamp: Math.floor(nowMs / 1000),
    state,
    wave: wave + 1,
    counts: countsByState(counts),
    ...(state === "cancelled" && { code: "DeploymentCancelled" as const }),
  };
}
