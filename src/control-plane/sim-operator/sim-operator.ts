import type { SimType } from "../../protocol/assets/sim.ts";
import type { Granularity } from "../../protocol/assets/usage.ts";
import type { AssetStatus } from "../../protocol/assets/asset.ts";
import type { Asset, SimState } from "../core/asset.ts";
import type { UsagePeriod } from "../core/sims/usage-periods.ts";
import type { TimeRange } from "../core/usage-period.ts";
import type { UsageTotal } from "../core/usage-view.ts";

/** A SIM as an asset has it: how the operator is asked for it, and its last known state. */
export interface OperatorSim {
  readonly type: SimType;
  /** With or without its Luhn digit: see `isSameIccid`. */
  readonly iccid: string;
  /** The SID of a Super SIM, the IMSI of a PRO SIM. */
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
        state: { status: supersim.status, networkGroup: supersim.networkGroup, pending: supersim.pending },
      }
    );
  }
  return (
    prosim && {
      type,
      iccid: prosim.iccid,
      operatorId: prosim.imsi,
      state: { status: prosim.status, networkGroup: undefined, pending: prosim.pending },
    }
  );
}

/** What the operator says of a SIM. */
export interface ObservedSim {
  readonly type: SimType;
  /** As the operator writes it. */
  readonly iccid: string;
  /** As `OperatorSim` has it; `undefined` where the operator does not say it. */
  readonly operatorId: string | undefined;
  /** `undefined` while a change of it is scheduled, and for a status that this service does not know. */
  readonly status: AssetStatus | undefined;
  /** The status in the operator's words. */
  readonly operatorStatus: string;
  /** Of a Super SIM: the unique name of its fleet. */
  readonly networkGroup: string | undefined;
  /** Of a PRO SIM. */
  readonly serviceProfile: string | undefined;
  /** Whether a change is queued at the operator's network. It settles by itself. */
  readonly isScheduled: boolean;
  /** Bytes that the SIM may use in a calendar month, where the operator says it. */
  readonly allowanceBytes: number | undefined;
}

/** What is to be changed. */
export interface SimChanges {
  readonly status?: AssetStatus;
  /** Only of a Super SIM. */
  readonly networkGroup?: string;
}

/** One line of what a check of the credentials found. */
export interface CheckLine {
  /** What was tried, such as `read SIMs`. */
  readonly what: string;
  /** What the service does with this permission. */
  readonly allows: string;
  /** `undefined`: it was not tried, as that would change something. */
  readonly isAllowed: boolean | undefined;
  /** What the operator answered, in words. */
  readonly answer: string;
}

/**
 * The company that runs the SIMs. Every change is idempotent. Calls throw `SimOperatorError`, and the reason of `signal` when it
 * aborts.
 */
export interface SimOperator {
  /** The shortest period in which it counts usage; `undefined`: it does not count, and the store has what was imported. */
  readonly usagePeriod: UsagePeriod | undefined;
  /** Returns what the operator says of the SIM; `undefined` if these credentials cannot see it. */
  findSim(sim: OperatorSim, signal: AbortSignal): Promise<ObservedSim | undefined>;
  /** Returns what the operator confirmed. With `isScheduled` the change settles later: `findSim` says when. */
  change(sim: OperatorSim, changes: SimChanges, signal: AbortSignal): Promise<ObservedSim>;
  /**
   * Totals by period and bucket, of the periods that begin within the range. Empty periods are left out. Throws
   * `GranularityNotAvailable` where the operator does not count so finely.
   */
  readUsage(
    sim: OperatorSim,
    range: TimeRange,
    granularity: Granularity,
    signal: AbortSignal,
  ): Promise<readonly UsageTotal[]>;
  /** Tries what the service needs, without changing anything. */
  check(signal: AbortSignal): Promise<readonly CheckLine[]>;
}

/** Why a call of an operator failed. */
export type OperatorFailure =
  /** It did not answer in time, or not at all. */
  | "unavailable"
  /** It asks for a pause. */
  | "throttled"
  /** It does not accept the credentials, or they do not allow the call. */
  | "credentials"
  /** It does not know what was asked for. */
  | "not_found"
  /** It says no. */
  | "refused"
  /** Its answer makes no sense. */
  | "malformed";

/** A call of the operator failed. The message is for the service's log and its administrator, not for API clients. */
export class SimOperatorError extends Error {
  /** Whether the same call may succeed when the caller repeats it at once. A connector has done so already. */
  readonly retryable: boolean;
  readonly failure: OperatorFailure;
  /** The pause that the operator asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    retryable: boolean,
    options: ErrorOptions & { readonly failure?: OperatorFailure; readonly retryAfterMs?: number } = {},
  ) {
    super(message, options);
    this.name = "SimOperatorError";
    this.retryable = retryable;
    this.failure = options.failure ?? (retryable ? "unavailable" : "refused");
    this.retryAfterMs = options.retryAfterMs;
  }
}
