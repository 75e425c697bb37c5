import { MAX_TAGS } from "../../../protocol/fleets/tags.ts";
import { MAX_VARIABLES } from "../../../protocol/values/variables.ts";
import type { AssetSettingsStore, Hold, Sealed, AssetSettingsOutcome, StoredVariable } from "../asset-settings.ts";
import type { AuditEntry } from "../audit.ts";
import type { Precondition } from "../precondition.ts";
import { appendAccountEvents } from "./append-events.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { all, change, one, type Work } from "./statement.ts";

const READ_TAGS = "SELECT key, value FROM asset_tags WHERE asset_uuid = ? ORDER BY key";
const SET_TAG = /* sql */ `
  INSERT INTO asset_tags (asset_uuid, account_id, key, value) VALUES (?, ?, ?, ?)
  ON CONFLICT (asset_uuid, key) DO UPDATE SET value = excluded.value WHERE asset_tags.value <> excluded.value`;
const REMOVE_TAG = "DELETE FROM asset_tags WHERE asset_uuid = ? AND key = ?";
const READ_VARIABLES = /* sql */ `
  SELECT name, is_secret, key_id, sealed FROM asset_variables WHERE asset_uuid = ? ORDER BY name`;
const SET_VARIABLE = /* sql */ `
  INSERT INTO asset_variables (asset_uuid, name, is_secret, key_id, sealed) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (asset_uuid, name) DO UPDATE
  SET is_secret = excluded.is_secret, key_id = excluded.key_id, sealed = excluded.sealed`;
const REMOVE_VARIABLE = "DELETE FROM asset_variables WHERE asset_uuid = ? AND name = ?";
const FIND_HOLD = "SELECT until_ms, reason, set_at_ms, set_by FROM asset_holds WHERE asset_uuid = ?";
const SET_HOLD = /* sql */ `
  INSERT INTO asset_holds (asset_uuid, until_ms, reason, set_at_ms, set_by) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (asset_uuid) DO UPDATE SET until_ms = excluded.until_ms, reason = excluded.reason,
    set_at_ms = excluded.set_at_ms, set_by = excluded.set_by`;
const RELEASE = "DELETE FROM asset_holds WHERE asset_uuid = ?";
// A range on both sides of the key is two scans of the index, which a comparison for inequality is not.
const LIST_OTHER_KEYS = /* sql */ `
  SELECT asset_uuid, name, is_secret, key_id, sealed FROM asset_variables WHERE key_id < ?1 OR key_id > ?1 LIMIT ?2`;
const RESEAL = "UPDATE asset_variables SET key_id = ?, sealed = ? WHERE asset_uuid = ? AND name = ? AND sealed = ?";

interface TagRow {
  readonly key: string;
  readonly value: string;
}

interface VariableRow {
  readonly asset_uuid: string;
  readonly name: string;
  readonly is_secret: number;
  readonly key_id: string;
  readonly sealed: Uint8Array;
}

interface HoldRow {
  readonly until_ms: number | null;
  readonly reason: string;
  readonly set_at_ms: number;
  readonly set_by: string;
}

/** How the entries of one kind of setting are read, all of them, and written, each of type `T`. */
interface Entries<T, All> {
  readonly max: number;
  readonly read: (assetUuid: string) => Work<All>;
  readonly namesOf: (all: All) => Iterable<string>;
  /** Returns whether that changed something. */
  readonly set: (asset: LockedAsset, name: string, value: T) => Work<boolean>;
  readonly remove: (assetUuid: string, name: string) => Work<number>;
}

interface LockedAsset {
  readonly uuid: string;
  readonly account_id: string;
}

const TAGS: Entries<string, ReadonlyMap<string, string>> = {
  max: MAX_TAGS,
  *read(assetUuid) {
    return toTags(yield* all<TagRow>(READ_TAGS, [assetUuid]));
  },
  namesOf: (tags) => tags.keys(),
  *set({ uuid, account_id }, key, value) {
    return (yield* change(SET_TAG, [uuid, account_id, key, value])) > 0;
  },
  *remove(assetUuid, key) {
    return yield* change(REMOVE_TAG, [assetUuid, key]);
  },
};

const VARIABLES: Entries<Omit<StoredVariable, "name">, readonly StoredVariable[]> = {
  max: MAX_VARIABLES,
  *read(assetUuid) {
    return (yield* all<VariableRow>(READ_VARIABLES, [assetUuid])).map(toVariable);
  },
  namesOf: (variables) => variables.map(({ name }) => name),
  *set({ uuid }, name, { isSecret, keyId, sealed }) {
    return (yield* change(SET_VARIABLE, [uuid, name, Number(isSecret), keyId, sealed])) > 0;
  },
  *remove(assetUuid, name) {
    return yield* change(REMOVE_VARIABLE, [assetUuid, name]);
  },
};

export class SqlAssetSettingsStore implements AssetSettingsStore {
  readonly #executor: Executor;
  readonly #lockAsset: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#lockAsset = `SELECT uuid, account_id FROM assets WHERE uuid = ? ${executor.dialect.lockRows}`;
  }

  async readTags(assetUuid: string): Promise<ReadonlyMap<string, string>> {
    return toTags(await this.#executor.all<TagRow>(READ_TAGS, [assetUuid]));
  }

  async listTags(assetUuids: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
    const rows = await this.#executor.all<{
      readonly asset_uuid: string;
      readonly key: string;
      readonly value: string;
    }>(
      `SELECT asset_uuid, key, value FROM asset_tags WHERE asset_uuid IN ${this.#executor.dialect.jsonTexts("?1")}
       ORDER BY asset_uuid, key`,
      [JSON.stringify(assetUuids)],
    );
    const tags = new Map<string, Map<string, string>>(assetUuids.map((uuid) => [uuid, new Map()]));
    for (const { asset_uuid, key, value } of rows) tags.get(asset_uuid)?.set(key, value);
    return tags;
  }

  async changeTags(
    assetUuid: string,
    changes: ReadonlyMap<string, string | null>,
    replace: boolean,
    audit: AuditEntry,
    precondition?: Precondition<ReadonlyMap<string, string>>,
  ): Promise<AssetSettingsOutcome> {
    return this.#executor.transact(() => this.#change(TAGS, assetUuid, changes, replace, audit, precondition));
  }

  async readVariables(assetUuid: string): Promise<readonly StoredVariable[]> {
    return (await this.#executor.all<VariableRow>(READ_VARIABLES, [assetUuid])).map(toVariable);
  }

  async changeVariables(
    assetUuid: string,
    changes: ReadonlyMap<string, Omit<StoredVariable, "name"> | null>,
    replace: boolean,
    audit: AuditEntry,
    precondition?: Precondition<readonly StoredVariable[]>,
  ): Promise<AssetSettingsOutcome> {
    return this.#executor.transact(() => this.#change(VARIABLES, assetUuid, changes, replace, audit, precondition));
  }

  async findHold(assetUuid: string): Promise<Hold | undefined> {
    const row = await this.#executor.one<HoldRow>(FIND_HOLD, [assetUuid]);
    return row && toHold(row);
  }

  async changeHold(
    assetUuid: string,
    hold: Hold | undefined,
    audit: AuditEntry,
    precondition?: Precondition<Hold | undefined>,
  ): Promise<AssetSettingsOutcome> {
    const lockAsset = this.#lockAsset;
    return this.#executor.transact(function* (): Work<AssetSettingsOutcome> {
      const asset = yield* one<LockedAsset>(lockAsset, [assetUuid]);
      if (!asset) return "no_asset";
      const before = yield* one<HoldRow>(FIND_HOLD, [assetUuid]);
      precondition?.(before && toHold(before));
      if (hold) {
        const { untilMs, reason, setAtMs, setBy } = hold;
        if (before && before.until_ms === (untilMs ?? null) && before.reason === reason) return "unchanged";
        yield* change(SET_HOLD, [assetUuid, untilMs ?? null, reason, setAtMs, JSON.stringify(setBy)]);
      } else if ((yield* change(RELEASE, [assetUuid])) === 0) return "unchanged";
      yield* recordAudit(audit);
      yield* appendAccountEvents(asset.account_id, [{ type: "asset.changed", asset_id: assetUuid }]);
      return "changed";
    });
  }

  async listVariablesNotSealedBy(
    keyId: string,
    limit: number,
  ): Promise<readonly (StoredVariable & { readonly assetUuid: string })[]> {
    const rows = await this.#executor.all<VariableRow>(LIST_OTHER_KEYS, [keyId, limit]);
    return rows.map((row) => Object.assign(toVariable(row), { assetUuid: row.asset_uuid }));
  }

  async resealVariable(assetUuid: string, name: string, before: Uint8Array, after: Sealed): Promise<boolean> {
    return (await this.#executor.change(RESEAL, [after.keyId, after.sealed, assetUuid, name, before])) > 0;
  }

  *#change<T, All>(
    entries: Entries<T, All>,
    assetUuid: string,
    changes: ReadonlyMap<string, T | null>,
    replace: boolean,
    audit: AuditEntry,
    precondition: Precondition<All> | undefined,
  ): Work<AssetSettingsOutcome> {
    // Locked: two changes at the same time would not count each other's entries.
    const asset = yield* one<LockedAsset>(this.#lockAsset, [assetUuid]);
    if (!asset) return "no_asset";
    const before = yield* entries.read(assetUuid);
    precondition?.(before);
    const names = new Set(entries.namesOf(before));
    const removed = new Set([...names].filter((name) => (changes.has(name) ? changes.get(name) === null : replace)));
    const set = [...changes].filter((entry): entry is [string, T & {}] => entry[1] !== null);
    const kept = [...names].filter((name) => !removed.has(name));
    if (new Set([...kept, ...set.map(([name]) => name)]).size > entries.max) return "too_many";
    let hasChanged = false;
    for (const name of removed) hasChanged = (yield* entries.remove(assetUuid, name)) > 0 || hasChanged;
    for (const [name, value] of set) hasChanged = (yield* entries.set(asset, name, value)) || hasChanged;
    if (!hasChanged) return "unchanged";
    yield* recordAudit(audit);
    yield* appendAccountEvents(asset.account_id, [{ type: "asset.changed", asset_id: assetUuid }]);
    return "changed";
  }
}

function toTags(rows: readonly TagRow[]): ReadonlyMap<string, string> {
  return new Map(rows.map(({ key, value }) => [key, value]));
}

function toVariable({ name, is_secret, key_id, sealed }: VariableRow): StoredVariable {
  return { name, isSecret: is_secret === 1, keyId: key_id, sealed };
}

function toHold({ until_ms, reason, set_at_ms, set_by }: HoldRow): Hold {
  return { untilMs: until_ms ?? undefined, reason, setAtMs: set_at_ms, setBy: JSON.parse(set_by) as Hold["setBy"] };
}
