import type { AssetStatus } from "../../protocol/asset.ts";
import type { SimType } from "../../protocol/sim.ts";

/** The properties of a SIM that its operator can change. */
export interface SimState {
  readonly status: AssetStatus;
  /** For a Super SIM only. */
  readonly networkGroup: string | undefined;
}

export interface SimStore {
  /** Stores a state that the operator has confirmed. Does nothing if the asset or SIM does not exist. */
  setSimState(assetUuid: string, type: SimType, state: SimState): Promise<void>;
  /** Whether an asset of any account has a SIM with this ICCID. */
  hasIccid(iccid: string): Promise<boolean>;
}
