import type { Granularity } from "../../protocol/assets/usage.ts";
import type { TimeRange } from "../core/usage-period.ts";
import type { UsageTotal } from "../core/usage-view.ts";
import type { UsageStore } from "../store/usage.ts";
import type { CheckLine, ObservedSim, OperatorSim, SimChanges, SimOperator } from "./sim-operator.ts";

/**
 * The operator of an installation without a real one: state changes always succeed, and usage comes from imports.
 */
export class StoredSimOperator implements SimOperator {
  readonly usagePeriod = undefined;
  readonly #usage: UsageStore;

  constructor(usage: UsageStore) {
    this.#usage = usage;
  }

  async findSim({ type, iccid, operatorId, state }: OperatorSim): Promise<ObservedSim> {
    return {
      type,
      iccid,
      operatorId,
      ...state,
      operatorStatus: state.status,
      serviceProfile: undefined,
      isScheduled: false,
      allowanceBytes: undefined,
    };
  }

  change(sim: OperatorSim, changes: SimChanges): Promise<ObservedSim> {
    return this.findSim({ ...sim, state: { ...sim.state, ...changes } });
  }

  readUsage(sim: OperatorSim, range: TimeRange, granularity: Granularity): Promise<readonly UsageTotal[]> {
    return this.#usage.sumUsage(sim.iccid, range, granularity);
  }

  async check(): Promise<readonly CheckLine[]> {
    return [];
  }
}
