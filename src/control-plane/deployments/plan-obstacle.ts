import { type Clock, unixNow } from "../../lib/clock.ts";
import type { Deployment } from "../core/deployment.ts";
import { mayUseDataPlan, type DataPlanObstacle } from "../core/sims/plan-obstacle.ts";
import type { DataPlanStore } from "../store/data-plans.ts";

/** Finds the spent data plan that stands in the way of a deployment now; `undefined`: none does. */
export type FindObstacle = (
  deployment: Pick<Deployment, "accountId" | "assetUuid" | "command" | "options">,
) => Promise<DataPlanObstacle | undefined>;

export function obstacleFinder(
  plans: Pick<DataPlanStore, "readDeployments" | "findSpent">,
  clock: Pick<Clock, "now">,
): FindObstacle {
  return async (deployment) => {
    if (!mayUseDataPlan(deployment)) return undefined;
    const setting = await plans.readDeployments(deployment.accountId);
    if (setting === "ignore") return undefined;
    const spent = await plans.findSpent(deployment.assetUuid, unixNow(clock));
    return spent && { effect: setting === "urgent" ? "refuse" : "wait", ...spent };
  };
}
