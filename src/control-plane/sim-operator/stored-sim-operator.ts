import type { Granularity } from "../../protocol/usage.ts";
import type { TimeRange } from "../core/usage-period.ts";
import type { SimState } from "../core/asset.ts";
import type { UsageTotal } from "../core/usage-view.ts";
import type { UsageStore } from "../store/usage.ts";
import type { OperatorSim, SimOperator } from "./sim-operator.ts";

/**
 * The operator of an installation without a real one: state changes always succeed, and usage comes from imports.
 */
export class StoredSimOperator implements SimOperator {
  readonly #usage: UsageStore;

  constructor(usage: UsageStore) {
    this.#usage = usage;
  }

  async activate(sim: OperatorSim): Promise<SimState> {
    return { ...sim.state, status: "active" };
  }

  async deactivate(sim: OperatorSim): Promise<SimState> {
    return { ...sim.state, status: "inactive" };
  }

  async setNetworkGroup(sim: OperatorSim, networkGroup: string): Promise<SimState> {
    return { ...sim.state, networkGroup };
  }

  readUsage(sim: OperatorSim, range: TimeRange, granularity: Granularity): Promise<readonly UsageTotal[]> {
    return this.#usage.sumUsage(sim.iccid, range, granularity);
  }
}
