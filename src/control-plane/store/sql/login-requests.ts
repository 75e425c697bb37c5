import { isWithinLifetime } from "../../core/lifetime.ts";
import { type LoginRequest, lowerRole, rolesUpTo } from "../../core/people/login-request.ts";
import type { KeyBounds } from "../../core/people/key-limits.ts";
import type { Role } from "../../core/people/roles.ts";
import { networkOf, sourceOf } from "../../core/people/source.ts";
import type { AuditEntry } from "../audit.ts";
import {
  type LoginDecision,
  type LoginRequestCreation,
  type LoginRequestStore,
  type LoginResult,
  MAX_LOGIN_REQUESTS,
  MAX_LOGIN_REQUESTS_PER_SOURCE,
} from "../login-requests.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { FIND_SESSION, findKey, insertKey, makeRoomForLoginKey, removeEnded, revokeSql } from "./keys.ts";
import { change, one, type Work } from "./statement.ts";
import { toRole, toUser, USER_COLUMNS, type UserRow } from "./user-row.ts";

interface Row {
  readonly client_name: string;
  readonly source: string | null;
  readonly created_at: number;
  readonly expires_at: number;
  readonly state: LoginRequest["state"];
  readonly user_id: string | null;
  readonly role: string | null;
  readonly key_expires_at: number | null;
}

interface Counts {
  readonly kept: number;
  readonly ofSource: number;
  readonly ofNetwork: number;
}

const COLUMNS = "client_name, source, created_at, expires_at, state, user_id, role, key_expires_at";
const INSERT = /* sql */ `
  INSERT INTO login_requests (device_code_hash, user_code_hash, client_name, source, source_group, network, created_at, expires_at, state)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending') ON CONFLICT DO NOTHING`;
const REMOVE_EXPIRED = "DELETE FROM login_requests WHERE expires_at <= ?";
const COUNT = /* sql */ `
  SELECT (SELECT count(*) FROM login_requests) AS kept,
    (SELECT count(*) FROM login_requests WHERE source_group = ? AND state = 'pending') AS "ofSource",
    (SELECT count(*) FROM login_requests WHERE network = ?) AS "ofNetwork"`;
const FIND_LARGEST_NETWORK = /* sql */ `
  SELECT network, count(*) AS requests FROM login_requests GROUP BY network ORDER BY count(*) DESC, network LIMIT 1`;
const REMOVE_NEWEST = /* sql */ `
  DELETE FROM login_requests WHERE device_code_hash = (
    SELECT device_code_hash FROM login_requests WHERE network = ?
    ORDER BY CASE state WHEN 'pending' THEN 0 ELSE 1 END, created_at DESC, device_code_hash LIMIT 1)`;
/** Number of an advisory lock, unique in this database. */
const LOCK_NUMBER = 7_230_145;
const FIND = `SELECT ${COLUMNS} FROM login_requests WHERE user_code_hash = ?`;
const FIND_BY_DEVICE_CODE = `SELECT ${COLUMNS} FROM login_requests WHERE device_code_hash = ?`;
const DECIDE = /* sql */ `
  UPDATE login_requests SET state = ?1, user_id = ?2, role = ?3, key_expires_at = ?4
  WHERE user_code_hash = ?5 AND state = 'pending' AND expires_at > ?6`;
const DENY_APPROVED = "UPDATE login_requests SET state = 'denied' WHERE user_id = ? AND state = 'approved'";
const REMOVE = "DELETE FROM login_requests WHERE device_code_hash = ?";

/**
 * Revokes the keys that fall with a person and whose role is not one of these, or which have permissions that their new role
 * could not give: those of its log-ins, those that it made in sessions, and those that one of these made.
 */
export function* revokePersonalKeys(userId: string, kept: readonly Role[], at: number): Work<number> {
  const roles = kept.map((role) => `'${role}'`).join(", ");
  const hasTooMuch = [
    ...(kept.length > 0 ? [`role NOT IN (${roles})`] : ["1 = 1"]),
    // Only admins give a key permissions beyond its role.
    ...(kept.includes("admin") ? [] : ["permissions <> '[]'"]),
  ].join(" OR ");
  return yield* change(revokeSql(`origin_id = ?2 AND is_personal = 1 AND (${hasTooMuch})`), [at, userId]);
}

/** The result of a transaction that may revoke keys. */
export interface Revoking<T> {
  readonly result: T;
  /** How many keys it has revoked. Default: none. */
  readonly revoked?: number;
}

/** Waits for a transaction, and calls `onRevoked` if keys were revoked. Also after a failure: it may have taken place all the same. */
export async function reportRevoked<T>(work: Promise<Revoking<T>>, onRevoked: () => void): Promise<Revoking<T>> {
  let done: Revoking<T> | undefined;
  try {
    done = await work;
    return done;
  } finally {
    if (done === undefined || (done.revoked ?? 0) > 0) onRevoked();
  }
}

/** Takes back what the user has confirmed and no program has fetched yet. */
export function* denyApprovedLogins(userId: string): Work<void> {
  yield* change(DENY_APPROVED, [userId]);
}

/** Returns the roles whose keys a user may keep: none if it may not sign in. */
export function keptRoles(user: { readonly role: Role; readonly isDisabled: boolean }): readonly Role[] {
  return user.isDisabled ? [] : rolesUpTo(user.role);
}

export class SqlLoginRequestStore implements LoginRequestStore {
  readonly #executor: Executor;
  readonly #lockUser: string;
  readonly #lockRequest: string;
  readonly #onKeysRevoked: () => void;

  /** @param onKeysRevoked called when keys of log-ins were revoked for another one */
  constructor(executor: Executor, onKeysRevoked: () => void = () => {}) {
    this.#executor = executor;
    this.#onKeysRevoked = onKeysRevoked;
    const { lockRows } = executor.dialect;
    this.#lockUser = `SELECT ${USER_COLUMNS} FROM users u WHERE u.id = ? ${lockRows}`;
    this.#lockRequest = `${FIND_BY_DEVICE_CODE} ${lockRows}`;
  }

  async createLoginRequest(
    { clientName, source, createdAt, expiresAt }: LoginRequest,
    { deviceCode, userCode }: Parameters<LoginRequestStore["createLoginRequest"]>[1],
    maxRequests = MAX_LOGIN_REQUESTS,
  ): Promise<LoginRequestCreation> {
    const group = source === undefined ? "" : sourceOf(source);
    const network = networkOf(group);
    const takeLock = this.#executor.dialect.takeLock(LOCK_NUMBER);
    return this.#executor.transact(function* (): Work<LoginRequestCreation> {
      // Without it, requests that are made at the same time would not count each other.
      if (takeLock !== "") yield* one(takeLock);
      yield* change(REMOVE_EXPIRED, [createdAt]);
      const { kept = 0, ofSource = 0, ofNetwork = 0 } = (yield* one<Counts>(COUNT, [group, network])) ?? {};
      if (ofSource >= MAX_LOGIN_REQUESTS_PER_SOURCE) return "too_many";
      const isFull = kept >= maxRequests;
      if (isFull && !(yield* makeRoom(ofNetwork))) return "too_many";
      const values = [deviceCode, userCode, clientName, source ?? null, group, network, createdAt, expiresAt];
      if ((yield* change(INSERT, values)) === 0) throw new Error("the codes of a log-in are not unique");
      return isFull ? "created_for_another" : "created";
    });
  }

  async findLoginRequest(userCode: Uint8Array): Promise<LoginRequest | undefined> {
    const row = await this.#executor.one<Row>(FIND, [userCode]);
    return row && toRequest(row);
  }

  async decideLoginRequest(
    userCode: Uint8Array,
    { at, userId, sessionHash, grant }: Parameters<LoginRequestStore["decideLoginRequest"]>[1],
    audit: AuditEntry,
  ): Promise<LoginDecision> {
    const values = [grant ? "approved" : "denied", userId, grant?.role ?? null, grant?.expiresAt ?? null, userCode, at];
    const lockUser = this.#lockUser;
    return this.#executor.transact(function* (): Work<LoginDecision> {
      // Locked: a change of the password that is under way takes back what it sees, and this would not be among it.
      yield* one<UserRow>(lockUser, [userId]);
      if (!(yield* one(FIND_SESSION, [sessionHash, userId]))) return "signed_out";
      if ((yield* change(DECIDE, values)) > 0) {
        yield* recordAudit(audit);
        return "decided";
      }
      const row = yield* one<Row>(FIND, [userCode]);
      return row && row.expires_at > at ? "decided_before" : "unknown";
    });
  }

  async takeLogin(
    deviceCode: Uint8Array,
    at: number,
    bounds: KeyBounds,
    createKey: Parameters<LoginRequestStore["takeLogin"]>[3],
  ): Promise<LoginResult> {
    const take = this.#executor.transact(() => this.#take(deviceCode, at, bounds, createKey));
    const { result } = await reportRevoked(take, this.#onKeysRevoked);
    if (result.kind === "key") await removeEnded(this.#executor, result.key.accountId, at, bounds);
    return result;
  }

  *#take(
    deviceCode: Uint8Array,
    at: number,
    bounds: KeyBounds,
    createKey: Parameters<LoginRequestStore["takeLogin"]>[3],
  ): Work<Revoking<LoginResult>> {
    const seen = yield* one<Row>(FIND_BY_DEVICE_CODE, [deviceCode]);
    // The user before its request, as where the user is removed, so that no two transactions wait for each other.
    const userRow = seen?.user_id ? yield* one<UserRow>(this.#lockUser, [seen.user_id]) : undefined;
    const row = yield* one<Row>(this.#lockRequest, [deviceCode]);
    if (!row) return { result: { kind: "unknown" } };
    if (!isWithinLifetime(toRequest(row), at)) return { result: { kind: "expired" } };
    if (row.state === "pending") return { result: { kind: "pending" } };
    if (row.state === "approved" && !userRow) return { result: { kind: "pending" } };
    const user = userRow && toUser(userRow);
    if (row.state === "denied" || !user || user.isDisabled || row.role === null) {
      yield* change(REMOVE, [deviceCode]);
      return { result: { kind: "denied" } };
    }
    const role = lowerRole(toRole(row.role), user.role);
    const grant = { role, expiresAt: row.key_expires_at ?? undefined, name: row.client_name };
    const { key, hash, audit } = createKey(user, grant);
    const made = yield* findKey(hash);
    // The response of an earlier call may have been lost.
    if (made) return { result: made.revokedAt === undefined ? { kind: "key", key: made, user } : { kind: "denied" } };
    const revoked = yield* makeRoomForLoginKey(user.id, at, bounds);
    yield* insertKey(key, hash, user.id);
    yield* recordAudit(revoked > 0 ? { ...audit, details: { ...audit.details, revoked_keys: revoked } } : audit);
    return { result: { kind: "key", key, user }, revoked };
  }
}

/** Removes a request of the network with the most, if that has more than the one with so many would have. */
function* makeRoom(ofNetwork: number): Work<boolean> {
  const largest = yield* one<{ readonly network: string; readonly requests: number }>(FIND_LARGEST_NETWORK);
  if (!largest || largest.requests <= ofNetwork + 1) return false;
  return (yield* change(REMOVE_NEWEST, [largest.network])) > 0;
}

function toRequest(row: Row): LoginRequest {
  return {
    clientName: row.client_name,
    source: row.source ?? undefined,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    state: row.state,
  };
}
