import type { AssetCursor } from "../../core/cursor.ts";
import type { SelectorTerm } from "../../../protocol/fleets/selector.ts";
import type { Asset } from "../../core/asset.ts";
import { canonicalIdentifier } from "../../core/identifier.ts";
import type { DeviceBoots } from "../../core/device-boots.ts";
import type {
  AssetCounts,
  AssetDescription,
  AssetFilter,
  AssetPage,
  AssetStore,
  AssetWithState,
  FoundDevice,
  RegisterResult,
  StateTime,
} from "../assets.ts";
import type { AuditEntry } from "../audit.ts";
import type { Precondition } from "../precondition.ts";
import { appendAccountEvents, appendAssetEvent } from "./append-events.ts";
import { countAssets } from "./asset-counts.ts";
import { AssetList } from "./asset-list.ts";
import {
  ASSET_COLUMNS,
  ASSET_JOINS,
  type AssetRow,
  renewalOffset,
  STATE_JOIN,
  stateColumns,
  toAsset,
  toAssetWithState,
  toBoots,
} from "./asset-row.ts";
import { recordAudit } from "./audit.ts";
import { acceptNew, deviceReplaced, markCloned } from "./device-acceptance.ts";
import type { Executor } from "./executor.ts";
import { IdentifierTakenError, insertAsset } from "./insert-asset.ts";
import { matchesSql } from "./selector-sql.ts";
import { change, one, type Parameters, type Work } from "./statement.ts";

const FIND_BY_IDENTIFIER = /* sql */ `
  SELECT ${ASSET_COLUMNS} FROM identifiers i JOIN assets a ON a.uuid = i.asset_uuid ${ASSET_JOINS}
  WHERE i.value = ? AND a.account_id = ?`;
const FIND_WITH_STATE = /* sql */ `
  SELECT ${ASSET_COLUMNS}, ${stateColumns("?3", "?4")} FROM identifiers i JOIN assets a ON a.uuid = i.asset_uuid
  ${ASSET_JOINS} ${STATE_JOIN} WHERE i.value = ?1 AND a.account_id = ?2`;
/** A next token that an installer's code gave is void once a device of the asset has been connected. */
const mayUseNext = (assets: string): string => /* sql */ `(${assets}.next_may_replace = 1 OR NOT EXISTS (
    SELECT 1 FROM asset_states c WHERE c.asset_uuid = ${assets}.uuid AND c.last_seen_at IS NOT NULL))`;
const FIND_BY_TOKEN = /* sql */ `
  SELECT ${ASSET_COLUMNS}, CASE WHEN a.next_device_token_hash = ?1 THEN 1 ELSE 0 END AS is_next_token, a.boots FROM assets a ${ASSET_JOINS}
  WHERE a.device_token_hash = ?1 OR (a.next_device_token_hash = ?1 AND ${mayUseNext("a")})`;
const FIND = `SELECT ${ASSET_COLUMNS} FROM assets a ${ASSET_JOINS} WHERE a.uuid = ?`;
const REPLACE_TOKEN = /* sql */ `
  UPDATE assets SET device_token_hash = next_device_token_hash, next_device_token_hash = NULL
  WHERE uuid = ? AND next_device_token_hash = ? AND ${mayUseNext("assets")}`;
const FIND_ACCEPTED = "SELECT 1 AS found FROM asset_states WHERE asset_uuid = ? AND accepted_at IS NOT NULL";
/** Only if they have not changed meanwhile. */
const SAVE_BOOTS = "UPDATE assets SET boots = ? WHERE uuid = ? AND coalesce(boots, '') = ?";
const FORGET_BOOTS = "UPDATE assets SET boots = NULL WHERE uuid = ? AND boots IS NOT NULL";
const DESCRIBE = /* sql */ `
  UPDATE assets SET name = coalesce(?1, name), type = coalesce(?2, type)
  WHERE uuid = ?3 AND (name <> coalesce(?1, name) OR type <> coalesce(?2, type))`;
const REMOVE_USAGE = "DELETE FROM usage_series WHERE iccid IN (SELECT iccid FROM sims WHERE asset_uuid = ?)";
const REMOVE = "DELETE FROM assets WHERE uuid = ?";

interface DeviceRow extends AssetRow {
  readonly is_next_token: number;
  readonly boots: string | null;
}

/** No stored text contains it, and PostgreSQL refuses it in a parameter. */
const NUL = "\0";

/** Rolls back a registration that could be stored. */
class CheckedError extends Error {}

/** In the place of a device token's hash, which is one for each asset. Not committed. */
const NO_TOKEN = new Uint8Array(0);

export class SqlAssetStore implements AssetStore {
  readonly #executor: Executor;
  readonly #list: AssetList;
  readonly #lockSims: string;
  readonly #findMatching: string;
  readonly #lockAsset: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#list = new AssetList(executor);
    this.#lockAsset = `SELECT uuid FROM assets WHERE uuid = ? ${executor.dialect.lockForRemoval}`;
    this.#findMatching = /* sql */ `
      SELECT a.uuid FROM assets a
      WHERE a.account_id = ?1 AND a.uuid IN ${executor.dialect.jsonTexts("?2")} AND ${matchesSql(executor.dialect, "?3")}`;
    this.#lockSims = `SELECT iccid FROM sims WHERE asset_uuid = ? ORDER BY iccid ${executor.dialect.lockForRemoval}`;
  }

  async findAsset(accountId: string, identifier: string): Promise<Asset | undefined> {
    if (identifier.includes(NUL)) return undefined;
    return this.#find(FIND_BY_IDENTIFIER, canonicalIdentifier(identifier), accountId);
  }

  async findAssetWithState(
    accountId: string,
    identifier: string,
    time: StateTime,
  ): Promise<AssetWithState | undefined> {
    if (identifier.includes(NUL)) return undefined;
    const values = [canonicalIdentifier(identifier), accountId, time.serviceNowMs, renewalOffset(time)];
    return (await this.#executor.allValues(FIND_WITH_STATE, values)).map(toAssetWithState)[0];
  }

  async findAssetByDeviceToken(hash: Uint8Array): Promise<Asset | undefined> {
    return (await this.findDevice(hash))?.asset;
  }

  async findDevice(hash: Uint8Array): Promise<FoundDevice | undefined> {
    const row = await this.#executor.one<DeviceRow>(FIND_BY_TOKEN, [hash]);
    return row && { asset: toAsset(row), isNextToken: row.is_next_token === 1, boots: toBoots(row.boots) };
  }

  async saveBoots(uuid: string, before: DeviceBoots | undefined, boots: DeviceBoots): Promise<boolean> {
    return this.#executor.transact(function* (): Work<boolean> {
      const text = before === undefined ? "" : JSON.stringify(before);
      if ((yield* change(SAVE_BOOTS, [JSON.stringify(boots), uuid, text])) === 0) return false;
      if ((before?.clone === undefined) !== (boots.clone === undefined))
        yield* markCloned(uuid, boots.clone !== undefined);
      return true;
    });
  }

  async findAssetByUuid(uuid: string): Promise<Asset | undefined> {
    return this.#find(FIND, uuid);
  }

  async isAccepted(uuid: string): Promise<boolean> {
    return (await this.#executor.one(FIND_ACCEPTED, [uuid])) !== undefined;
  }

  async replaceDeviceToken(uuid: string, hash: Uint8Array, nowMs: number, audit?: AuditEntry): Promise<boolean> {
    return this.#executor.transact(function* (): Work<boolean> {
      if ((yield* change(REPLACE_TOKEN, [uuid, hash])) === 0) return false;
      // The next device is told from the one before by its token.
      yield* change(FORGET_BOOTS, [uuid]);
      yield* markCloned(uuid, false);
      yield* deviceReplaced(uuid, nowMs);
      if (audit) yield* recordAudit(audit);
      return true;
    });
  }

  async registerAsset(
    asset: Asset,
    deviceTokenHash: Uint8Array,
    audit?: AuditEntry,
    isAccepted = false,
  ): Promise<RegisterResult> {
    try {
      await this.#executor.transact(function* (): Work<void> {
        yield* insertAsset(asset, deviceTokenHash);
        yield* acceptNew(asset.uuid, asset.createdAt, isAccepted);
        yield* appendAccountEvents(asset.accountId, [{ type: "asset.registered", asset_id: asset.uuid }]);
        if (audit) yield* recordAudit(audit);
      });
      return { ok: true };
    } catch (error) {
      return takenOf(error);
    }
  }

  async checkAsset(asset: Asset): Promise<RegisterResult> {
    try {
      await this.#executor.transact(function* (): Work<void> {
        yield* insertAsset(asset, NO_TOKEN);
        throw new CheckedError();
      });
      return { ok: true };
    } catch (error) {
      return error instanceof CheckedError ? { ok: true } : takenOf(error);
    }
  }

  async listAssets(
    accountId: string,
    filter: AssetFilter,
    limit: number,
    after: AssetCursor | undefined,
    time: StateTime,
  ): Promise<AssetPage> {
    if ([filter.text, filter.type, filter.agentVersion].some((value) => value?.includes(NUL)))
      return { assets: [], next: undefined };
    return this.#list.page(accountId, filter, time, limit, after);
  }

  async findMatching(
    accountId: string,
    uuids: readonly string[],
    selector: readonly SelectorTerm[],
  ): Promise<ReadonlySet<string>> {
    const parameters = [accountId, JSON.stringify(uuids), JSON.stringify(selector)];
    const rows = await this.#executor.all<{ readonly uuid: string }>(this.#findMatching, parameters);
    return new Set(rows.map(({ uuid }) => uuid));
  }

  async countAssets(accountId: string, time: StateTime): Promise<AssetCounts> {
    return countAssets(this.#executor, accountId, time);
  }

  async describeAsset(uuid: string, { name, type }: AssetDescription, audit?: AuditEntry): Promise<void> {
    await this.#executor.transact(function* (): Work<void> {
      if ((yield* change(DESCRIBE, [name ?? null, type ?? null, uuid])) === 0) return;
      yield* appendAssetEvent(uuid, "asset.changed");
      if (audit) yield* recordAudit(audit);
    });
  }

  async removeAsset(uuid: string, audit?: AuditEntry, precondition?: Precondition<Asset>): Promise<void> {
    await this.#executor.transact(() => this.#remove(uuid, audit, precondition));
  }

  async #find(sql: string, ...parameters: Parameters): Promise<Asset | undefined> {
    const row = await this.#executor.one<AssetRow>(sql, parameters);
    return row && toAsset(row);
  }

  *#remove(uuid: string, audit: AuditEntry | undefined, precondition: Precondition<Asset> | undefined): Work<void> {
    // An import that is storing usage of the SIMs is waited for, so that what it stores is removed too.
    yield* one(this.#lockSims, [uuid]);
    if (precondition) {
      yield* one(this.#lockAsset, [uuid]);
      const row = yield* one<AssetRow>(FIND, [uuid]);
      if (row) precondition(toAsset(row));
    }
    yield* change(REMOVE_USAGE, [uuid]);
    yield* appendAssetEvent(uuid, "asset.removed");
    const removed = yield* change(REMOVE, [uuid]);
    if (audit && removed > 0) yield* recordAudit(audit);
  }
}

/** Throws the error, unless it says that an identifier is taken. */
function takenOf(error: unknown): RegisterResult {
  if (!(error instanceof IdentifierTakenError)) throw error;
  return { ok: false, taken: error.field, value: error.value, owner: error.owner };
}
