import { PERMISSIONS } from "../../core/permission.ts";
import type { KeyBounds } from "../../core/people/key-limits.ts";
import type { ApiKey, KeyChange, KeyCreation, KeyRenewal, KeyStore } from "../accounts.ts";
import type { AuditEntry } from "../audit.ts";
import type { Precondition } from "../precondition.ts";
import { appendAccountEvents } from "./append-events.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { all, change, one, type Work } from "./statement.ts";
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
  readonly origin_id: string | null;
  readonly is_personal: number;
}

const NAMES = [
  "id",
  "account_id",
  "name",
  "created_at",
  "last_used_at",
  "revoked_at",
  "permissions",
  "role",
  "expires_at",
  "created_by",
  "origin_id",
  "is_personal",
] as const satisfies readonly (keyof Row)[];
const COLUMNS = NAMES.join(", ");
const INSERT = `INSERT INTO api_keys (hash, ${COLUMNS}, login_user_id) VALUES (?, ${NAMES.map(() => "?").join(", ")}, ?)`;
const FIND_BY_HASH = `SELECT ${COLUMNS} FROM api_keys WHERE hash = ?`;
const FIND = `SELECT ${COLUMNS} FROM api_keys WHERE id = ?`;
const LIST = `SELECT ${COLUMNS} FROM api_keys ORDER BY created_at, id`;
const LIST_OF_ACCOUNT = `SELECT ${COLUMNS} FROM api_keys WHERE account_id = ? ORDER BY created_at, id`;
const RECORD_USE = "UPDATE api_keys SET last_used_at = ? WHERE id = ?";
const CHANGE = "UPDATE api_keys SET name = ?, expires_at = ? WHERE id = ?";
const COUNT = /* sql */ `
  SELECT count(CASE WHEN login_user_id IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)
      THEN 1 END) AS living,
    count(CASE WHEN revoked_at IS NOT NULL OR expires_at <= ?2 THEN 1 END) AS ended
  FROM api_keys WHERE account_id = ?1`;
const REMOVE_ENDED = /* sql */ `
  DELETE FROM api_keys WHERE account_id = ?1 AND (revoked_at IS NOT NULL OR expires_at <= ?2) AND id NOT IN (
    SELECT id FROM api_keys WHERE account_id = ?1 AND (revoked_at IS NOT NULL OR expires_at <= ?2)
    ORDER BY coalesce(revoked_at, expires_at) DESC, id LIMIT ?3)`;
const LIVING_OF_LOGINS = "login_user_id = ?2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)";
const COUNT_OF_LOGINS = `SELECT count(*) AS living FROM api_keys WHERE ${LIVING_OF_LOGINS}`;

/**
 * Returns the statement that revokes keys, and every key that one of them has made, directly or not: a key ends no later than
 * what made it. Its first parameter is the time.
 *
 * @param condition of the keys that are revoked for themselves
 */
export const revokeSql = (condition: string): string => /* sql */ `
  UPDATE api_keys SET revoked_at = ?1 WHERE revoked_at IS NULL AND id IN (
    WITH RECURSIVE revoked (id) AS (
      SELECT id FROM api_keys WHERE ${condition}
      UNION SELECT k.id FROM api_keys k JOIN revoked r ON k.created_by = r.id
    ) SELECT id FROM revoked)`;

const REVOKE = revokeSql("id = ?2 AND revoked_at IS NULL");
const REVOKE_SURPLUS_OF_LOGINS = revokeSql(`${LIVING_OF_LOGINS} AND id NOT IN (
    SELECT id FROM api_keys WHERE ${LIVING_OF_LOGINS}
    ORDER BY coalesce(last_used_at, created_at) DESC, created_at DESC, id LIMIT ?3)`);
/** Keys that a key has made, directly or not, and that would end after it. */
const LIST_OUTLIVING = /* sql */ `
  WITH RECURSIVE made (id) AS (
    SELECT id FROM api_keys WHERE created_by = ?1
    UNION SELECT k.id FROM api_keys k JOIN made m ON k.created_by = m.id
  ) SELECT hash, ${COLUMNS} FROM api_keys
    WHERE id IN (SELECT id FROM made) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2) ORDER BY id`;
/** A user is no key: the session tells whether it may make one. */
const FIND_ENDED_MAKER = `SELECT 1 AS found FROM api_keys WHERE id = ? AND (revoked_at IS NOT NULL OR expires_at <= ?)`;
export const FIND_SESSION = "SELECT 1 AS found FROM user_sessions WHERE hash = ? AND user_id = ?";
const FIND_MAKER_END = "SELECT expires_at FROM api_keys WHERE id = ?";

export class SqlKeyStore implements KeyStore {
  readonly #executor: Executor;
  readonly #lock: string;
  readonly #lockAccount: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#lockAccount = lockAccount(executor);
    this.#lock = `SELECT ${COLUMNS}, hash, login_user_id FROM api_keys WHERE id = ? ${executor.dialect.lockRows}`;
  }

  async createKey(
    key: ApiKey,
    hash: Uint8Array,
    audit?: AuditEntry,
    bounds?: KeyBounds,
    sessionHash?: Uint8Array,
  ): Promise<KeyCreation> {
    const { accountId, createdAt } = key;
    const lock = this.#lockAccount;
    const result = await this.#executor.transact(function* (): Work<KeyCreation> {
      // Locked: keys that are created at the same time would not count each other, and a revocation would not see this one.
      if (bounds) yield* one(lock, [accountId]);
      if (!(yield* isMakerThere(key, sessionHash))) return "maker_ended";
      if (bounds && (yield* countKeys(accountId, createdAt)).living >= bounds.maxKeys) return "too_many";
      yield* insertKey(key, hash, undefined);
      if (audit) yield* recordAudit(audit);
      return "created";
    });
    if (bounds && result === "created") await removeEnded(this.#executor, accountId, createdAt, bounds);
    return result;
  }

  async findKeyByHash(hash: Uint8Array): Promise<ApiKey | undefined> {
    const row = await this.#executor.one<Row>(FIND_BY_HASH, [hash]);
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

  async revokeKey(id: string, at: number, audit?: AuditEntry, precondition?: Precondition<ApiKey>): Promise<boolean> {
    const key = await this.findKey(id);
    if (!key) return false;
    const lock = this.#lockAccount;
    const lockOfKey = this.#lock;
    await this.#executor.transact(function* (): Work<void> {
      yield* one(lock, [key.accountId]);
      const row = precondition && (yield* one<Row>(lockOfKey, [id]));
      if (row) precondition(toKey(row));
      const revoked = yield* change(REVOKE, [at, id]);
      if (revoked === 0) return;
      yield* appendAccountEvents(key.accountId, [{ type: "key.changed", key_id: id }]);
      const others = revoked > 1 ? { revoked_keys: revoked - 1 } : {};
      if (audit) yield* recordAudit({ ...audit, details: { ...audit.details, ...others } });
    });
    return true;
  }

  async changeKey(
    accountId: string,
    id: string,
    { name, expiresAt }: KeyChange,
    audit?: AuditEntry,
    renewal?: KeyRenewal,
    precondition?: Precondition<ApiKey>,
  ): Promise<ApiKey | "too_many" | undefined> {
    const lock = this.#lock;
    const lockOfAccount = this.#lockAccount;
    return this.#executor.transact(function* (): Work<ApiKey | "too_many" | undefined> {
      // The account before its keys, as everywhere, so that no two transactions wait for each other.
      if (renewal && expiresAt !== undefined) yield* one(lockOfAccount, [accountId]);
      const row = yield* one<Row & { readonly login_user_id: string | null }>(lock, [id]);
      if (row?.account_id !== accountId) return undefined;
      const before = toKey(row);
      precondition?.(before);
      const until = expiresAt === undefined ? before.expiresAt : (expiresAt ?? undefined);
      const after = { ...before, name: name ?? before.name, expiresAt: earlier(until, yield* makerEnd(before)) };
      if (renewal && (yield* isOneTooMany(before, after, row.login_user_id, renewal))) return "too_many";
      if (after.name === before.name && after.expiresAt === before.expiresAt) return before;
      yield* change(CHANGE, [after.name, after.expiresAt ?? null, id]);
      if (expiresAt !== undefined) yield* boundMade(after);
      yield* appendAccountEvents(accountId, [{ type: "key.changed", key_id: id }]);
      if (audit) yield* recordAudit(audit);
      return after;
    });
  }
}

function* isMakerThere({ createdBy, createdAt }: ApiKey, sessionHash: Uint8Array | undefined): Work<boolean> {
  if (createdBy === undefined) return true;
  if (sessionHash) return (yield* one(FIND_SESSION, [sessionHash, createdBy])) !== undefined;
  return (yield* one(FIND_ENDED_MAKER, [createdBy, createdAt])) === undefined;
}

/** Returns when the key ends that has made this one; `undefined` for never, or if a person has made it. */
function* makerEnd({ createdBy }: ApiKey): Work<number | undefined> {
  if (createdBy === undefined) return undefined;
  return (yield* one<{ readonly expires_at: number | null }>(FIND_MAKER_END, [createdBy]))?.expires_at ?? undefined;
}

/** Has the keys that this one has made end no later than it does. */
function* boundMade({ id, expiresAt }: ApiKey): Work<void> {
  if (expiresAt === undefined) return;
  for (const row of yield* all<Row>(LIST_OUTLIVING, [id, expiresAt])) {
    const before = toKey(row);
    yield* change(CHANGE, [before.name, expiresAt, before.id]);
    yield* appendAccountEvents(before.accountId, [{ type: "key.changed", key_id: before.id }]);
  }
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** Returns the statement that locks an account's row while its keys or users are counted. */
export function lockAccount({ dialect }: Pick<Executor, "dialect">): string {
  return `SELECT id FROM accounts WHERE id = ? ${dialect.lockRows}`;
}

/** Counts the keys of the account that live, without those of log-ins, and those that have ended. */
function* countKeys(accountId: string, at: number): Work<{ readonly living: number; readonly ended: number }> {
  const counts = yield* one<{ readonly living: number; readonly ended: number }>(COUNT, [accountId, at]);
  return counts ?? { living: 0, ended: 0 };
}

function* countLoginKeys(userId: string, at: number): Work<number> {
  return (yield* one<{ readonly living: number }>(COUNT_OF_LOGINS, [at, userId]))?.living ?? 0;
}

/** Whether a key that had expired would live again beyond the bounds. */
function* isOneTooMany(
  before: ApiKey,
  after: ApiKey,
  loginUserId: string | null,
  { at, bounds }: KeyRenewal,
): Work<boolean> {
  const livesAgain = (before.expiresAt ?? Infinity) <= at && (after.expiresAt ?? Infinity) > at;
  if (!livesAgain || before.revokedAt !== undefined) return false;
  if (loginUserId !== null) return (yield* countLoginKeys(loginUserId, at)) >= bounds.maxLoginKeys;
  return (yield* countKeys(before.accountId, at)).living >= bounds.maxKeys;
}

/**
 * Revokes the keys of a user's log-ins that were used least recently, so that there is room for one more. Returns how many.
 * The caller has locked the user.
 */
export function* makeRoomForLoginKey(userId: string, at: number, { maxLoginKeys }: KeyBounds): Work<number> {
  if ((yield* countLoginKeys(userId, at)) < maxLoginKeys) return 0;
  return yield* change(REVOKE_SURPLUS_OF_LOGINS, [at, userId, maxLoginKeys - 1]);
}

/** Removes the keys of an account that ended earliest, beyond the bound. In a transaction of its own: nothing depends on it. */
export async function removeEnded(
  executor: Executor,
  accountId: string,
  at: number,
  { maxEnded }: KeyBounds,
): Promise<void> {
  const { ended } = await executor.transact(() => countKeys(accountId, at));
  if (ended > maxEnded) await executor.change(REMOVE_ENDED, [accountId, at, maxEnded]);
}

export function* findKey(hash: Uint8Array): Work<ApiKey | undefined> {
  const row = yield* one<Row>(FIND_BY_HASH, [hash]);
  return row && toKey(row);
}

/** Stores a key. @param loginUserId the user whose log-in made it, with whom it falls */
export function* insertKey(key: ApiKey, hash: Uint8Array, loginUserId: string | undefined): Work<void> {
  const { id, accountId, name, createdAt, lastUsedAt, revokedAt, permissions, role, expiresAt, createdBy } = key;
  const list = JSON.stringify(permissions);
  const values = [hash, id, accountId, name, createdAt, lastUsedAt ?? null, revokedAt ?? null, list];
  const makers = [createdBy ?? null, key.originId ?? null, Number(key.isPersonal ?? false), loginUserId ?? null];
  yield* change(INSERT, [...values, role, expiresAt ?? null, ...makers]);
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
    ...(row.origin_id !== null && { originId: row.origin_id }),
    ...(row.is_personal === 1 && { isPersonal: true }),
    permissions: PERMISSIONS.filter((permission) => (JSON.parse(row.permissions) as unknown[]).includes(permission)),
  };
}
