import type { PlanDeployments } from "../../protocol/assets/data-plan.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { Asset } from "../core/asset.ts";
import type { AuditEntry } from "./audit.ts";
import type { Precondition } from "./precondition.ts";

/** What is said of a plan, until the end of its month: a plan that will do is not mentioned. */
export interface DataPlanFinding {
  readonly state: "foreseen" | "spent";
  /** End of the month, in Unix seconds. */
  readonly until: number;
}

/** What was used of a plan, and will be, when it was judged last. */
export interface DataPlanUsage {
  readonly usedBytes: number;
  /** Expected by the end of the month. */
  readonly forecastBytes: number;
  /** When these were counted, in Unix seconds. */
  readonly asOf: number;
}

/** The monthly allowance of a SIM, in bytes. */
export interface Allowance {
  readonly bytes: number;
  readonly source: "manual" | "operator";
}

/** A SIM whose plan is to be judged. */
export interface DueDataPlan {
  readonly asset: Asset;
  readonly type: SimType;
  /** `undefined`: it has none any more. */
  readonly allowance: Allowance | undefined;
  readonly finding: DataPlanFinding | undefined;
}

/** A plan that is spent. */
export interface SpentDataPlan {
  readonly type: SimType;
  readonly allowanceBytes: number;
  /** End of the month, in Unix seconds. */
  readonly until: number;
}

/** The data plans of SIMs, and what the account wishes where one is spent. They are removed with the SIM and the account. */
export interface DataPlanStore {
  /** Returns what was set, or else what the operator says; `undefined` if there is neither. */
  findAllowance(assetUuid: string, type: SimType): Promise<Allowance | undefined>;
  /**
   * Sets the allowance of a SIM; `undefined` removes what was set. The plan is due to be judged then. Returns whether something
   * has changed; the entry is stored only then.
   */
  setAllowance(
    assetUuid: string,
    type: SimType,
    bytes: number | undefined,
    audit: AuditEntry,
    precondition?: Precondition<Allowance | undefined>,
  ): Promise<boolean>;
  /** Returns SIMs with an allowance, or with a finding, that are to be judged by now, those that are due longest first. */
  listDue(nowMs: number, limit: number): Promise<readonly DueDataPlan[]>;
  /**
   * Stores what was found of a plan, and the attention of its asset by that, which is told if anything has changed. Does nothing
   * if the SIM does not exist any more. Returns whether the plan was spent before and is not now.
   *
   * @param at Unix seconds
   * @param usage by which it was found; that of before stays without it
   */
  recordFinding(
    assetUuid: string,
    type: SimType,
    finding: DataPlanFinding | undefined,
    nextDueMs: number,
    at: number,
    usage?: DataPlanUsage,
  ): Promise<boolean>;
  /** Returns a spent plan among the active SIMs of the asset. @param now Unix seconds */
  findSpent(assetUuid: string, now: number): Promise<SpentDataPlan | undefined>;
  /** Returns what becomes of deployments to assets with a spent plan; `ignore` unless set. */
  readDeployments(accountId: string): Promise<PlanDeployments>;
  /** Error if the account does not exist. */
  setDeployments(
    accountId: string,
    deployments: PlanDeployments,
    audit: AuditEntry,
    precondition?: Precondition<PlanDeployments>,
  ): Promise<void>;
}
