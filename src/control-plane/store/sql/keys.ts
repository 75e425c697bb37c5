import { PERMISSIONS } from "../../core/permission.ts";
import type { ApiKey, KeyChange, KeyStore } from "../accounts.ts";
import type { AuditEntry } from "../audit.ts";
import { markedKeyHash, plainKeyHash, storedKeyHash } from "../key-hash.ts";
import { appendAccountEvents } from "./append-events.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Work } from "./statement.ts";
import { toRole } from "./user-row.ts";

interface Row {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly created_at: number;
  readonly last_used_at: number | null;
  readonly revoked_at: number | null;
  /** A JSON array. */
  readonly permissions: string;
  readonly role: string;
  readonly expires_at: number | null;
  readonly created_by: string | null;
}

const COLUMNS = "id, account_id, name, created_at, last_used_at, revoked_at, permissions, role, expires_at, created_by";
const INSERT = `INSERT INTO api_keys (hash, ${COLUMNS}, login_user_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const FIND_BY_HASH = `SELECT ${COLUMNS} FROM api_keys WHERE hash IN (?, ?)`;
const FIND = `SELECT ${COLUMNS} FROM api_keys WHERE id = ?`;
const LIST = `SELECT ${COLUMNS} FROM api_keys ORDER BY created_at, id`;
const LIST_OF_ACCOUNT = `SELECT ${COLUMNS} FROM api_keys WHERE account_id = ? ORDER BY created_at, id`;
const RECORD_USE = "UPDATE api_keys SET last_used_at = ? WHERE id = ?";
const REVOKE = "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL";
const CHANGE = "UPDATE api_keys SET name = ?, expires_at = ?, hash = ? WHERE id = ?";
const REMOVE_REVOKED = /* sql */ `
  DELETE FROM api_keys WHERE account_id = ?1 AND revoked_at IS NOT NULL AND id NOT IN (
    SELECT id FROM api_keys WHERE account_id = ?1 AND revoked_at IS NOT NULL ORDER BY revoked_at DESC, id LIMIT ?2)`;

export class SqlKeyStore implements KeyStore {
  readonly #executor: Executor;
  readonly #lock: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#lock = `SELECT ${COLUMNS}, hash FROM api_keys WHERE id = ? ${executor.dialect.lockRows}`;
  }

  async createKey(key: ApiKey, hash: Uint8Array, audit?: AuditEntry): Promise<void> {
    await this.#executor.transact(function* (): Work<void> {
      yield* insertKey(key, hash, undefined);
      if (audit) yield* recordAudit(audit);
    });
  }

  async findKeyByHash(hash: Uint8Array): Promise<ApiKey | undefined> {
    const row = await this.#executor.one<Row>(FIND_BY_HASH, [hash, markedKeyHash(hash)]);
    return row && toKey(row);
  }

  async findKey(id: string): Promise<ApiKey | undefined> {
    const row = await this.#executor.one<Row>(FIND, [id]);
    return row && toKey(row);
  }

  async listKeys(accountId?: string): Promise<readonly ApiKey[]> {
    const isOfAll = accountId === undefined;
    const rows = await this.#executor.all<Row>(isOfAll ? LIST : LIST_OF_ACCOUNT, isOfAll ? [] : [accountId]);
    return rows.map(toKey);
  }

  async recordKeyUse(id: string, at: number): Promise<void> {
    await this.#executor.change(RECORD_USE, [at, id]);
  }

  async revokeKey(id: string, at: number, audit?: AuditEntry): Promise<boolean> {
    const key = await this.findKey(id);
    if (!key) return false;
    await this.#executor.transact(function* (): Work<void> {
      if ((yield* change(REVOKE, [at, id])) === 0) return;
      yield* appendAccountEvents(key.accountId, [{ type: "key.changed", key_id: id }]);
      if (audit) yield* recordAudit(audit);
    });
    return true;
  }

  async changeKey(
    accountId: string,
    id: string,
    { name, expiresAt }: KeyChange,
    audit?: AuditEntry,
  ): Promise<ApiKey | undefined> {
    const lock = this.#lock;
    return this.#executor.transact(function* (): Work<ApiKey | undefined> {
      const row = yield* one<Row & { readonly hash: Uint8Array }>(lock, [id]);
      if (row?.account_id !== accountId) return undefined;
      const before = toKey(row);
      const until = expiresAt === undefined ? before.expiresAt : (expiresAt ?? undefined);
      const after = { ...before, name: name ?? before.name, expiresAt: until };
      const hash = storedKeyHash(after, plainKeyHash(before, row.hash));
      yield* change(CHANGE, [after.name, after.expiresAt ?? null, hash, id]);
      yield* appendAccountEvents(accountId, [{ type: "key.changed", key_id: id }]);
      if (audit) yield* recordAudit(audit);
      return after;
    });
  }

  async removeRevoked(accountId: string, kept: number): Promise<void> {
    await this.#executor.change(REMOVE_REVOKED, [accountId, kept]);
  }
}

/** Stores a key. @param loginUserId the user whose log-in made it, with whom it falls */
export function* insertKey(key: ApiKey, hash: Uint8Array, loginUserId: string | undefined): Work<void> {
  const { id, accountId, name, createdAt, lastUsedAt, revokedAt, permissions, role, expiresAt, createdBy } = key;
  const stored = storedKeyHash(key, hash);
  const list = JSON.stringify(permissions);
  const values = [stored, id, accountId, name, createdAt, lastUsedAt ?? null, revokedAt ?? null, list];
  yield* change(INSERT, [...values, role, expiresAt ?? null, createdBy ?? null, loginUserId ?? null]);
  yield* appendAccountEvents(accountId, [{ type: "key.changed", key_id: id }]);
}

function toKey(row: Row): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    role: toRole(row.role),
    expiresAt: row.expires_at ?? undefined,
    createdBy: row.created_by ?? undefined,
    permissions: PERMISSIONS.filter((permission) => (JSON.parse(row.permissions) as unknown[]).includes(permission)),
  };
}
