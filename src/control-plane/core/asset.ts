import type { AssetStatus } from "../../protocol/assets/asset.ts";
import type { SimType } from "../../protocol/assets/sim.ts";

/** What the operator has queued of a SIM. It settles by itself. */
export interface PendingChange {
  readonly status?: AssetStatus | undefined;
  readonly networkGroup?: string | undefined;
  /** When the operator took it, in Unix seconds. */
  readonly since: number;
}

/** A Super SIM on record. */
export interface SuperSim {
  readonly sid: string;
  readonly iccid: string;
  readonly networkGroup: string;
  readonly status: AssetStatus;
  readonly pending?: PendingChange | undefined;
}

/** A PRO SIM on record. */
export interface ProSim {
  readonly imsi: string;
  readonly iccid: string;
  readonly serviceProfile: string;
  readonly status: AssetStatus;
  readonly pending?: PendingChange | undefined;
}

/** The properties of a SIM that its operator can change. */
export interface SimState {
  readonly status: AssetStatus;
  /** Only of a Super SIM. */
  readonly networkGroup: string | undefined;
  readonly pending?: PendingChange | undefined;
}

/** An asset with the SIMs it holds. */
export interface Asset {
  /** Lower case. */
  readonly uuid: string;
  readonly accountId: string;
  readonly serialNumber: string;
  readonly name: string;
  readonly type: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly supersim: SuperSim | undefined;
  readonly prosim: ProSim | undefined;
}

/** Returns the types of SIM the asset has, in the order in which they are changed. */
export function simTypes(asset: Pick<Asset, SimType>): SimType[] {
  return (["supersim", "prosim"] as const).filter((type) => asset[type] !== undefined);
}

/** Returns `active` if either SIM is active; an asset without a SIM is inactive. */
export function deriveStatus(asset: Pick<Asset, SimType>): AssetStatus {
  return simTypes(asset).some((type) => asset[type]?.status === "active") ? "active" : "inactive";
}
