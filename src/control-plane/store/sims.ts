import type { SimType } from "../../protocol/sim.ts";
import type { SimState } from "../core/asset.ts";
import type { AuditEntry } from "./audit.ts";

export interface SimStore {
  /** Stores a state that the operator has confirmed. Does nothing if the asset or SIM does not exist. */
  setSimState(assetUuid: string, type: SimType, state: SimState, audit?: AuditEntry): Promise<void>;
  /** Whether an asset of any account has a SIM with this ICCID. */
  hasIccid(iccid: string): Promise<boolean>;
}
