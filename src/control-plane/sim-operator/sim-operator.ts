import type { SimType } from "../../protocol/sim.ts";
import type { Granularity } from "../../protocol/usage.ts";
import type { Asset, SimState } from "../core/asset.ts";
import type { TimeRange } from "../core/usage-period.ts";
import type { UsageTotal } from "../core/usage-view.ts";

/** A SIM with the identifiers of the operator's API, and its last known state. */
export interface OperatorSim {
  readonly type: SimType;
  readonly iccid: string;
  /** The operator's own identifier: the SID of a Super SIM, the IMSI of a PRO SIM. */
  readonly operatorId: string;
  readonly state: SimState;
}

/** The asset's SIM of this type as the operator addresses it; `undefined` when the asset has none. */
export function toOperatorSim(asset: Asset, type: SimType): OperatorSim | undefined {
  const { supersim, prosim } = asset;
  if (type === "supersim") {
    return (
      supersim && {
        type,
        iccid: supersim.iccid,
        operatorId: supersim.sid,
        state: { status: supersim.status, networkGroup: supersim.networkGroup },
      }
    );
  }
  return (
    prosim && {
      type,
      iccid: prosim.iccid,
      operatorId: prosim.imsi,
      state: { status: prosim.status, networkGroup: undefined },
    }
  );
}

/**
 * The company that runs the SIMs, modelled on the REST APIs of such companies. Every change is idempotent and returns the
 * SIM's new state, which the caller stores. Throws `SimOperatorError` when a call fails.
 */
export interface SimOperator {
  activate(sim: OperatorSim, signal: AbortSignal): Promise<SimState>;
  deactivate(sim: OperatorSim, signal: AbortSignal): Promise<SimState>;
  /** Only for Super SIMs. */
  setNetworkGroup(sim: OperatorSim, networkGroup: string, signal: AbortSignal): Promise<SimState>;
  /** Totals by period and bucket. Empty periods are left out. */
  readUsage(
    sim: OperatorSim,
    range: TimeRange,
    granularity: Granularity,
    signal: AbortSignal,
  ): Promise<readonly UsageTotal[]>;
}

/** A call of the operator failed. The message is for the service's log, not for API clients. */
export class SimOperatorError extends Error {
  /** Whether the same call may succeed on a retry. */
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean, options?: ErrorOptions) {
    super(message, options);
    this.name = "SimOperatorError";
    this.retryable = retryable;
  }
}
