import type { SimType } from "../../protocol/sim.ts";
import type { SimState } from "../core/asset.ts";

export interface SimStore {
  /** Stores what the operator has confirmed. An asset or SIM that is gone meanwhile is no error. */
  setSimState(assetUuid: string, type: SimType, state: SimState): Promise<void>;
  /** Whether any asset, of whatever account, holds a SIM with this ICCID. */
  hasIccid(iccid: string): Promise<boolean>;
}
