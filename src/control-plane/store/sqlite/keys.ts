import type { DatabaseSync } from "node:sqlite";
import { PERMISSIONS } from "../../core/permission.ts";
import type { ApiKey, KeyStore } from "../accounts.ts";

interface Row {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly hash: Uint8Array;
  readonly created_at: number;
  readonly last_used_at: number | null;
  readonly revoked_at: number | null;
  /** A JSON array. */
  readonly permissions: string;
}

export class SqliteKeyStore implements KeyStore {
  readonly #insert;
  readonly #byHash;
  readonly #byId;
  readonly #list;
  readonly #use;
  readonly #revoke;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      "INSERT INTO api_keys (id, account_id, name, hash, created_at, last_used_at, revoked_at, permissions) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#byHash = database.prepare("SELECT * FROM api_keys WHERE hash = ?");
    this.#byId = database.prepare("SELECT * FROM api_keys WHERE id = ?");
    this.#list = database.prepare(
      "SELECT * FROM api_keys WHERE account_id = coalesce(?, account_id) ORDER BY created_at, id",
    );
    this.#use = database.prepare("UPDATE api_keys SET last_used_at = ? WHERE id = ?");
    this.#revoke = database.prepare("UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?");
  }

  async createKey(key: ApiKey, hash: Uint8Array): Promise<void> {
    const { id, accountId, name, createdAt, lastUsedAt, revokedAt, permissions } = key;
    const list = JSON.stringify(permissions);
    this.#insert.run(id, accountId, name, hash, createdAt, lastUsedAt ?? null, revokedAt ?? null, list);
  }

  async findKeyByHash(hash: Uint8Array): Promise<{ readonly key: ApiKey; readonly hash: Uint8Array } | undefined> {
    const row = this.#byHash.get(hash) as Row | undefined;
    return row && { key: toKey(row), hash: row.hash };
  }

  async findKey(id: string): Promise<ApiKey | undefined> {
    const row = this.#byId.get(id) as Row | undefined;
    return row && toKey(row);
  }

  async listKeys(accountId?: string): Promise<readonly ApiKey[]> {
    return (this.#list.all(accountId ?? null) as unknown as Row[]).map(toKey);
  }

  async recordKeyUse(id: string, at: number): Promise<void> {
    this.#use.run(at, id);
  }

  async revokeKey(id: string, at: number): Promise<boolean> {
    return this.#revoke.run(at, id).changes > 0;
  }
}

function toKey(row: Row): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    permissions: PERMISSIONS.filter((permission) => (JSON.parse(row.permissions) as unknown[]).includes(permission)),
  };
}
