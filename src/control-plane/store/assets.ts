import type { Asset } from "../core/asset.ts";
import type { Identifier } from "../core/identifier.ts";

export type RegisterResult =
  | { readonly ok: true }
  /** The value of this field belongs to another asset, or to another field of the same one. */
  | { readonly ok: false; readonly taken: Identifier["field"] };

export interface AssetStore {
  /** The asset of this account with that serial number, SIM SID, ICCID or UUID. */
  findAsset(accountId: string, identifier: string): Promise<Asset | undefined>;
  findAssetByDeviceToken(hash: Uint8Array): Promise<Asset | undefined>;
  /** All or nothing. Throws when there is no such account. */
  registerAsset(asset: Asset, deviceTokenHash: Uint8Array): Promise<RegisterResult>;
}
