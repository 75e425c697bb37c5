import type { Asset } from "../core/asset.ts";
import type { Identifier } from "../core/identifier.ts";
import type { AssetCursor } from "../core/asset-cursor.ts";
import type { AssetStatus } from "../../protocol/asset.ts";

export type RegisterResult =
  | { readonly ok: true }
  /** The value of this field belongs to another asset, or to another field of the same one. */
  | {
      readonly ok: false;
      readonly taken: Identifier["field"];
      readonly value: string;
      readonly owner: IdentifierOwner;
    };

/** The asset an identifier belongs to. */
export interface IdentifierOwner {
  readonly assetUuid: string;
  readonly accountId: string;
}

/** What to list; a criterion that is left out lets everything pass. */
export interface AssetFilter {
  readonly status: AssetStatus | undefined;
  /** Exactly this type. */
  readonly type: string | undefined;
  /** Part of the name or the serial number; ASCII letters in either case. */
  readonly text: string | undefined;
}

export interface AssetStore {
  /** The asset of this account with that serial number, SIM SID, ICCID or UUID. */
  findAsset(accountId: string, identifier: string): Promise<Asset | undefined>;
  findAssetByUuid(uuid: string): Promise<Asset | undefined>;
  /** By the token its device has, or the one it was given to take its place. */
  findAssetByDeviceToken(hash: Uint8Array): Promise<Asset | undefined>;
  /**
   * A device connects with this token. Where it is the one it was given to take the place of another, the other is void.
   *
   * @returns whether another is void now
   */
  replaceDeviceToken(uuid: string, hash: Uint8Array): Promise<boolean>;
  /** All or nothing. Throws when there is no such account. */
  registerAsset(asset: Asset, deviceTokenHash: Uint8Array): Promise<RegisterResult>;
  /** The account's assets in order of creation time, then UUID, beginning after `after`; at most `limit`. */
  listAssets(
    accountId: string,
    filter: AssetFilter,
    limit: number,
    after: AssetCursor | undefined,
  ): Promise<readonly Asset[]>;
  /** An asset that is gone meanwhile is no error. */
  renameAsset(uuid: string, name: string): Promise<void>;
  /**
   * Removes the asset with its SIMs, identifiers and usage: whoever registers one of its SIMs later must not see what
   * was used before. One that is gone already is no error.
   */
  removeAsset(uuid: string): Promise<void>;
}
