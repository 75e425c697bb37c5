import { type Clock, unixNow } from "../../lib/clock.ts";
import type { Deployment } from "../core/deployment.ts";
import { mayUsePlan, type PlanObstacle } from "../core/sims/plan-obstacle.ts";
import type { DataPlanStore } from "../store/data-plans.ts";

/** Says which deployments a spent data plan stands in the way of. */
export class PlanGate {
  readonly #store: Pick<DataPlanStore, "readDeployments" | "findSpent">;
  readonly #clock: Pick<Clock, "now">;

  constructor(store: Pick<DataPlanStore, "readDeployments" | "findSpent">, clock: Pick<Clock, "now">) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Returns what stands in the way of the deployment now; `undefined`: nothing. */
  async findObstacle(
    deployment: Pick<Deployment, "accountId" | "assetUuid" | "action" | "options">,
  ): Promise<PlanObstacle | undefined> {
    if (!mayUsePlan(deployment)) return undefined;
    const effect = await this.#store.readDeployments(deployment.accountId);
    if (effect === "ignore") return undefined;
    const spent = await this.#store.findSpent(deployment.assetUuid, unixNow(this.#clock));
    return spent && { effect, ...spent };
  }
}
