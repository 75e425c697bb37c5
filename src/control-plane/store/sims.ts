import type { SimType } from "../../protocol/assets/sim.ts";
import type { Asset, SimState } from "../core/asset.ts";
import type { AuditEntry } from "./audit.ts";
import type { Allowance, DataPlanUsage } from "./data-plans.ts";

/** What the operator said when it was asked. */
export interface SimCheck {
  /** The status in the operator's words; `undefined` where it does not know the SIM. */
  readonly operatorStatus: string | undefined;
  /** Bytes a month, where the operator says it. */
  readonly allowanceBytes: number | undefined;
  readonly isLost: boolean;
  /** Unix milliseconds. */
  readonly checkedAtMs: number;
  /** Unix milliseconds. */
  readonly nextCheckAtMs: number;
}

/** A SIM whose operator is to be asked. */
export interface DueSim {
  readonly asset: Asset;
  readonly type: SimType;
  readonly isLost: boolean;
}

/** A SIM with its asset, and what its operator said of it last. */
export interface SimEntry {
  readonly asset: Asset;
  readonly type: SimType;
  readonly isLost: boolean;
  /** The status in the operator's words; `undefined` if it was not asked since the status was changed, or does not know the SIM. */
  readonly operatorStatus: string | undefined;
  /** Unix milliseconds; `undefined`: never. */
  readonly checkedAtMs: number | undefined;
  readonly allowance: Allowance | undefined;
  /** `undefined`: its plan was never judged. */
  readonly planUsage: DataPlanUsage | undefined;
}

/** Which SIMs of an account are listed; `undefined` for any. */
export interface SimFilter {
  readonly type: SimType | undefined;
  /** `data`: those whose plan is spent, or will be before its month ends. */
  readonly attention: "data" | undefined;
}

/** The last SIM of a page: the list is in the order of the assets' creation, then of the UUIDs and types. */
export interface SimPosition {
  /** Of its asset, in Unix seconds. */
  readonly createdAt: number;
  readonly assetUuid: string;
  readonly type: SimType;
}

export interface SimStore {
  /** Returns SIMs of the account's assets after the position. */
  listSims(accountId: string, filter: SimFilter, limit: number, after?: SimPosition): Promise<readonly SimEntry[]>;
  /** Returns the SIM of an asset of the account; `undefined` if there is none. */
  findSim(accountId: string, assetUuid: string, type: SimType): Promise<SimEntry | undefined>;
  /**
   * Stores a state that the operator has confirmed, with what is pending now. Does nothing if the asset or SIM does not exist.
   *
   * @param nextCheckAtMs when the operator is to be asked for it again, in Unix milliseconds; by default as before
   * @param operatorStatus the status in the operator's words; by default as before, and none for another status
   */
  setSimState(
    assetUuid: string,
    type: SimType,
    state: SimState,
    audit?: AuditEntry,
    nextCheckAtMs?: number,
    operatorStatus?: string,
  ): Promise<void>;
  /**
   * Stores what the operator said, and the state by that; with an entry, also an event and that entry. Does nothing if the
   * asset or SIM does not exist.
   */
  recordCheck(
    assetUuid: string,
    type: SimType,
    state: SimState,
    check: SimCheck,
    audit: AuditEntry | undefined,
  ): Promise<void>;
  /** Sets when the operator is to be asked next: it did not answer. */
  postponeCheck(assetUuid: string, type: SimType, nextCheckAtMs: number): Promise<void>;
  /** Returns SIMs of these types whose operator is to be asked by now, those with something pending first. */
  listDueSims(types: readonly SimType[], nowMs: number, limit: number): Promise<readonly DueSim[]>;
  /**
   * Takes a SIM from its asset, with its usage and identifiers: its operator does not know it any more, and that of another account
   * does. Returns false if the asset does not have it any more.
   */
  releaseSim(asset: Asset, type: SimType, audit: AuditEntry): Promise<boolean>;
  /** Whether an asset of any account has a SIM with this ICCID. */
  hasIccid(iccid: string): Promise<boolean>;
}

export interface NetworkGroupStore {
  /** Adds a group to the account's own, if it is not there. Throws when there is no such account. */
  addNetworkGroup(accountId: string, name: string, audit?: AuditEntry): Promise<void>;
  /** Returns the names of the account's own groups in alphabetical order. */
  listNetworkGroups(accountId: string): Promise<readonly string[]>;
}
