import type { AssetStatus } from "../../protocol/asset.ts";
import type { SimType } from "../../protocol/sim.ts";

/** What a SIM operator can change of a SIM. */
export interface SimState {
  readonly status: AssetStatus;
  /** Only a Super SIM is in one. */
  readonly networkGroup: string | undefined;
}

export interface SimStore {
  /** Stores what the operator has confirmed. An asset or SIM that is gone meanwhile is no error. */
  setSimState(assetUuid: string, type: SimType, state: SimState): Promise<void>;
  /** Whether any asset, of whatever account, holds a SIM with this ICCID. */
  hasIccid(iccid: string): Promise<boolean>;
}
