import type { DatabaseSync } from "node:sqlite";
import { transaction } from "../../../lib/sqlite.ts";
import type { Asset } from "../../core/asset.ts";
import { canonicalIdentifier, type Identifier, identifiersOf } from "../../core/identifier.ts";
import type { AssetCursor } from "../../core/asset-cursor.ts";
import type { AssetFilter, AssetStore, IdentifierOwner, RegisterResult } from "../assets.ts";
import { SqliteAssetList } from "./asset-list.ts";
import { ASSET_COLUMNS, ASSET_JOINS, type AssetRow, toAsset } from "./asset-row.ts";

export class SqliteAssetStore implements AssetStore {
  readonly #database: DatabaseSync;
  readonly #byIdentifier;
  readonly #byUuid;
  readonly #byToken;
  readonly #replaceToken;
  readonly #owner;
  readonly #insertAsset;
  readonly #insertIdentifier;
  readonly #insertSim;
  readonly #rename;
  readonly #removeUsage;
  readonly #remove;
  readonly #list: SqliteAssetList;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#byIdentifier = database.prepare(
      `SELECT ${ASSET_COLUMNS} FROM identifiers i JOIN assets a ON a.uuid = i.asset_uuid ${ASSET_JOINS}
       WHERE i.value = ? AND a.account_id = ?`,
    );
    this.#byToken = database.prepare(
      `SELECT ${ASSET_COLUMNS} FROM assets a ${ASSET_JOINS}
       WHERE a.device_token_hash = ?1 OR a.next_device_token_hash = ?1`,
    );
    this.#byUuid = database.prepare(`SELECT ${ASSET_COLUMNS} FROM assets a ${ASSET_JOINS} WHERE a.uuid = ?`);
    this.#replaceToken = database.prepare(
      `UPDATE assets SET device_token_hash = next_device_token_hash, next_device_token_hash = NULL
       WHERE uuid = ? AND next_device_token_hash = ?`,
    );
    this.#owner = database.prepare(
      `SELECT a.uuid AS assetUuid, a.account_id AS accountId
       FROM identifiers i JOIN assets a ON a.uuid = i.asset_uuid WHERE i.value = ?`,
    );
    this.#insertAsset = database.prepare(
      `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, device_token_hash)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertIdentifier = database.prepare(
      "INSERT INTO identifiers (value, asset_uuid) VALUES (?, ?) ON CONFLICT DO NOTHING",
    );
    this.#insertSim = database.prepare(
      `INSERT INTO sims (asset_uuid, kind, iccid, sid, imsi, network_group, service_profile, status)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#rename = database.prepare("UPDATE assets SET name = ? WHERE uuid = ?");
    this.#removeUsage = database.prepare(
      "DELETE FROM usage_records WHERE iccid IN (SELECT iccid FROM sims WHERE asset_uuid = ?)",
    );
    this.#remove = database.prepare("DELETE FROM assets WHERE uuid = ?");
    this.#list = new SqliteAssetList(database);
  }

  async findAsset(accountId: string, identifier: string): Promise<Asset | undefined> {
    const row = this.#byIdentifier.get(canonicalIdentifier(identifier), accountId) as AssetRow | undefined;
    return row && toAsset(row);
  }

  async findAssetByDeviceToken(hash: Uint8Array): Promise<Asset | undefined> {
    const row = this.#byToken.get(hash) as AssetRow | undefined;
    return row && toAsset(row);
  }

  async findAssetByUuid(uuid: string): Promise<Asset | undefined> {
    const row = this.#byUuid.get(uuid) as AssetRow | undefined;
    return row && toAsset(row);
  }

  async replaceDeviceToken(uuid: string, hash: Uint8Array): Promise<boolean> {
    return this.#replaceToken.run(uuid, hash).changes > 0;
  }

  async registerAsset(asset: Asset, deviceTokenHash: Uint8Array): Promise<RegisterResult> {
    try {
      transaction(this.#database, () => this.#insert(asset, deviceTokenHash));
      return { ok: true };
    } catch (error) {
      if (error instanceof IdentifierTakenError)
        return { ok: false, taken: error.field, value: error.value, owner: error.owner };
      throw error;
    }
  }

  async listAssets(
    accountId: string,
    filter: AssetFilter,
    limit: number,
    after: AssetCursor | undefined,
  ): Promise<readonly Asset[]> {
    return this.#list.page(accountId, filter, limit, after);
  }

  async renameAsset(uuid: string, name: string): Promise<void> {
    this.#rename.run(name, uuid);
  }

  async removeAsset(uuid: string): Promise<void> {
    transaction(this.#database, () => {
      this.#removeUsage.run(uuid);
      this.#remove.run(uuid);
    });
  }

  #requireFree(identifier: Identifier): void {
    const owner = this.#owner.get(identifier.value) as IdentifierOwner | undefined;
    if (owner) throw new IdentifierTakenError(identifier, owner);
  }

  #insert(asset: Asset, deviceTokenHash: Uint8Array): void {
    const { uuid, supersim, prosim } = asset;
    // Checked first, since the table of assets would fail with a constraint error.
    this.#requireFree({ field: "uuid", value: uuid });
    this.#insertAsset.run(
      uuid,
      asset.accountId,
      asset.serialNumber,
      asset.name,
      asset.type,
      asset.createdAt,
      deviceTokenHash,
    );
    for (const identifier of identifiersOf(asset)) {
      if (this.#insertIdentifier.run(identifier.value, uuid).changes === 0) this.#requireFree(identifier);
    }
    if (supersim) {
      const { iccid, sid, networkGroup, status } = supersim;
      this.#insertSim.run(uuid, "supersim", iccid, sid, null, networkGroup, null, status);
    }
    if (prosim) {
      const { iccid, imsi, serviceProfile, status } = prosim;
      this.#insertSim.run(uuid, "prosim", iccid, null, imsi, null, serviceProfile, status);
    }
  }
}

/** Rolls the transaction back; caught in this file. */
class IdentifierTakenError extends Error {
  readonly field: Identifier["field"];
  readonly value: string;
  readonly owner: IdentifierOwner;

  constructor({ field, value }: Identifier, owner: IdentifierOwner) {
    super(`taken: ${field}`);
    this.field = field;
    this.value = value;
    this.owner = owner;
  }
}
