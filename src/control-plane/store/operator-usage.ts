import type { SimType } from "../../protocol/assets/sim.ts";
import type { CountedUsage, UsagePeriod } from "../core/sims/usage-periods.ts";
import type { UsageCoverage } from "../core/sims/usage-coverage.ts";
import type { TimeRange } from "../core/usage-period.ts";

/** One SIM, and the periods in which its operator was asked. */
export interface CountedSim {
  readonly assetUuid: string;
  readonly type: SimType;
  readonly period: UsagePeriod;
}

/** Usage as the operators count it, as far as they were asked. It is removed with its SIM. */
export interface OperatorUsageStore {
  /** Returns what is stored of a SIM; `undefined` if its operator was never asked. */
  findCoverage(sim: CountedSim): Promise<UsageCoverage | undefined>;
  /**
   * Replaces what is stored of these ranges, and what is covered, in one transaction. Does nothing if the SIM does not exist any
   * more.
   */
  replaceUsage(
    sim: CountedSim,
    ranges: readonly TimeRange[],
    usage: readonly CountedUsage[],
    coverage: UsageCoverage,
  ): Promise<void>;
  /** Returns the periods that begin within the range, by start and bucket. */
  listUsage(sim: CountedSim, range: TimeRange): Promise<readonly CountedUsage[]>;
}
