import type { Asset } from "../core/asset.ts";
import type { Identifier } from "../core/identifier.ts";
import type { AssetCursor } from "../core/asset-cursor.ts";
import type { AssetStatus } from "../../protocol/asset.ts";
import type { AuditEntry } from "./audit.ts";

export type RegisterResult =
  | { readonly ok: true }
  /** The value of this field is an identifier of another asset, or of another field of the same asset. */
  | {
      readonly ok: false;
      readonly taken: Identifier["field"];
      readonly value: string;
      readonly owner: IdentifierOwner;
    };

/** The asset that has an identifier. */
export interface IdentifierOwner {
  readonly assetUuid: string;
  readonly accountId: string;
}

/** Criteria for a list of assets; `undefined` matches every asset. */
export interface AssetFilter {
  readonly status: AssetStatus | undefined;
  /** Exactly this type. */
  readonly type: string | undefined;
  /** Part of the name or the serial number; case-insensitive for ASCII letters. */
  readonly text: string | undefined;
}

export interface AssetStore {
  /** Returns the account's asset with this serial number, SIM SID, ICCID or UUID. */
  findAsset(accountId: string, identifier: string): Promise<Asset | undefined>;
  findAssetByUuid(uuid: string): Promise<Asset | undefined>;
  /** Finds an asset by the current device token, or by the next one. */
  findAssetByDeviceToken(hash: Uint8Array): Promise<Asset | undefined>;
  /**
   * Makes the asset's next device token the current one, if this is its hash. The previous token becomes invalid.
   *
   * @returns whether a token was replaced
   */
  replaceDeviceToken(uuid: string, hash: Uint8Array): Promise<boolean>;
  /** Stores the asset with its SIMs in one transaction. Throws when there is no such account. */
  registerAsset(asset: Asset, deviceTokenHash: Uint8Array, audit?: AuditEntry): Promise<RegisterResult>;
  /** Returns at most `limit` of the account's assets after `after`, ordered by creation time, then UUID. */
  listAssets(
    accountId: string,
    filter: AssetFilter,
    limit: number,
    after: AssetCursor | undefined,
  ): Promise<readonly Asset[]>;
  /** Does nothing if the asset does not exist. */
  renameAsset(uuid: string, name: string, audit?: AuditEntry): Promise<void>;
  /**
   * Removes the asset with its SIMs, identifiers and usage: a later owner of a SIM must not see its earlier usage. Does
   * nothing if the asset does not exist.
   */
  removeAsset(uuid: string, audit?: AuditEntry): Promise<void>;
}
