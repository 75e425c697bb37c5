import type { RolloutRetryPlan } from "../../api/types.ts";
import { formatAssets } from "../../parts/target-states.ts";

/** Says what a retry takes, and what it leaves out. */
export function describeRetry(plan: RolloutRetryPlan): string {
  const { revision, assets, current, left, superseded, under_way: underWay } = plan;
  return [
    underWay === null
      ? `Revision ${revision} goes to ${formatAssets(assets)}, on which it has failed or was refused.`
      : "The retry is under way already.",
    ...(current > 0 ? [`Left out: ${formatAssets(current)} that ${current === 1 ? "runs" : "run"} it by now.`] : []),
    ...(left > 0 ? [`Left out: ${formatAssets(left)} that left the fleet.`] : []),
    ...(superseded ? [`It takes the place of the rollout of revision ${superseded.revision}.`] : []),
  ].join(" ");
}
