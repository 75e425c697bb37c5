import type { SimType } from "../../protocol/sim.ts";
import type { Granularity } from "../../protocol/usage.ts";
import type { Asset, SimState } from "../core/asset.ts";
import type { TimeRange } from "../core/usage-period.ts";
import type { UsageTotal } from "../core/usage-view.ts";

/** A SIM as an operator's API addresses it, with what the control plane last knew about it. */
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
 * The company that runs the SIMs, shaped like the REST APIs such companies have. Every change is idempotent: asking
 * for what is already so succeeds. Each answers the state the SIM is in afterwards, which is what gets stored.
 * A call that cannot be carried out throws `SimOperatorError`.
 */
export interface SimOperator {
  activate(sim: OperatorSim, signal: AbortSignal): Promise<SimState>;
  deactivate(sim: OperatorSim, signal: AbortSignal): Promise<SimState>;
  /** Only for Super SIMs. */
  setNetworkGroup(sim: OperatorSim, networkGroup: string, signal: AbortSignal): Promise<SimState>;
  /** Totals by period and bucket; empty periods are left out. */
  readUsage(
    sim: OperatorSim,
    range: TimeRange,
    granularity: Granularity,
    signal: AbortSignal,
  ): Promise<readonly UsageTotal[]>;
}

/** The operator did not do what it was asked. The message is for the operator's log, not for the API's clients. */
export class SimOperatorError extends Error {
  /** Whether the same call may succeed shortly. */
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean, options?: ErrorOptions) {
    super(message, options);
    this.name = "SimOperatorError";
    this.retryable = retryable;
  }
}
