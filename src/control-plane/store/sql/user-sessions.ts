import {
  isSessionLive,
  MAX_SESSION_S,
  SESSION_IDLE_S,
  type SignInMethod,
  type UserSession,
} from "../../core/people/session.ts";
import type { User } from "../../core/people/user.ts";
import { MAX_SESSIONS_PER_USER, type OpenedUserSession, type UserSessionStore } from "../user-sessions.ts";
import type { AuditEntry } from "../audit.ts";
import { changeWithAudit, recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Work } from "./statement.ts";
import { CODE_RETENTION_S } from "./user-codes.ts";
import { toUser, USER_COLUMNS, type UserRow } from "./user-row.ts";

interface Row extends UserRow {
  readonly session_id: string;
  readonly session_created_at: number;
  readonly session_last_used_at: number;
  readonly session_source: string | null;
  readonly session_method: SignInMethod;
}

const INSERT = /* sql */ `
  INSERT INTO user_sessions (hash, id, user_id, created_at, last_used_at, source, method) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const REMOVE_SURPLUS = /* sql */ `
  DELETE FROM user_sessions WHERE user_id = ?1 AND id <> ?2 AND id NOT IN (
    SELECT id FROM user_sessions WHERE user_id = ?1 AND id <> ?2
    ORDER BY last_used_at DESC, created_at DESC, id LIMIT ?3)`;
const COUNT = "SELECT count(*) AS sessions FROM user_sessions WHERE user_id = ?";
const REMOVE_EXPIRED_OF_USER = /* sql */ `
  DELETE FROM user_sessions WHERE user_id = ? AND (last_used_at <= ? OR created_at <= ?)`;
const FIND = /* sql */ `
  SELECT ${USER_COLUMNS}, s.id AS session_id, s.created_at AS session_created_at,
    s.last_used_at AS session_last_used_at, s.source AS session_source, s.method AS session_method
  FROM user_sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = ?`;
const RECORD_USE = "UPDATE user_sessions SET last_used_at = ?1 WHERE hash = ?2 AND last_used_at < ?1";
const CLOSE = "DELETE FROM user_sessions WHERE hash = ?";
const RECORD_SIGN_IN = "UPDATE users SET last_sign_in_at = ? WHERE id = ?";
const REMOVE_EXPIRED = "DELETE FROM user_sessions WHERE last_used_at <= ? OR created_at <= ?";
const REMOVE_OLD_CODES = "DELETE FROM one_time_codes WHERE created_at < ?";

export class SqlUserSessionStore implements UserSessionStore {
  readonly #executor: Executor;
  readonly #lockUser: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#lockUser = `SELECT ${USER_COLUMNS} FROM users u WHERE u.id = ? ${executor.dialect.lockRows}`;
  }

  async openSession(opened: OpenedUserSession): Promise<boolean> {
    return this.#executor.transact(() => this.#open(opened));
  }

  async findSession(hash: Uint8Array): Promise<{ readonly session: UserSession; readonly user: User } | undefined> {
    const row = await this.#executor.one<Row>(FIND, [hash]);
    return row && { session: toSession(row), user: toUser(row) };
  }

  async recordSessionUse(hash: Uint8Array, at: number): Promise<void> {
    await this.#executor.change(RECORD_USE, [at, hash]);
  }

  async closeSession(hash: Uint8Array, audit?: AuditEntry): Promise<boolean> {
    return (await changeWithAudit(this.#executor, CLOSE, [hash], audit)) > 0;
  }

  async removeExpired(now: number): Promise<number> {
    return this.#executor.transact(function* (): Work<number> {
      yield* change(REMOVE_OLD_CODES, [now - CODE_RETENTION_S]);
      return yield* change(REMOVE_EXPIRED, [now - SESSION_IDLE_S, now - MAX_SESSION_S]);
    });
  }

  *#open({ session, hash, user, replaces, audit }: OpenedUserSession): Work<boolean> {
    // Locked: a change of the user that is under way ends the sessions that it sees, and this one would not be among them.
    const row = yield* one<UserRow>(this.#lockUser, [user.id]);
    if (!row || !isUnchanged(toUser(row), user)) return false;
    if (replaces) yield* replace(replaces, session.createdAt, audit);
    const { id, createdAt, lastUsedAt, source, method } = session;
    yield* change(INSERT, [hash, id, user.id, createdAt, lastUsedAt, source ?? null, method]);
    yield* removeSurplus(user, session, audit);
    yield* change(RECORD_SIGN_IN, [createdAt, user.id]);
    yield* recordAudit(audit);
    return true;
  }
}

/** Ends the session that the browser had before; it may be one of another user, of another account. */
function* replace(hash: Uint8Array, now: number, opened: AuditEntry): Work<void> {
  const row = yield* one<Row>(FIND, [hash]);
  if (!row || (yield* change(CLOSE, [hash])) === 0) return;
  if (isSessionLive(toSession(row), now)) yield* recordAudit(closedEntry(toUser(row), "replaced", opened));
}

/** Ends the sessions beyond the bound that were used least recently, but never the one that was just opened. */
function* removeSurplus(user: User, { id, createdAt: now }: UserSession, opened: AuditEntry): Work<void> {
  const { sessions = 0 } = (yield* one<{ readonly sessions: number }>(COUNT, [user.id])) ?? {};
  if (sessions <= MAX_SESSIONS_PER_USER) return;
  yield* change(REMOVE_EXPIRED_OF_USER, [user.id, now - SESSION_IDLE_S, now - MAX_SESSION_S]);
  const removed = yield* change(REMOVE_SURPLUS, [user.id, id, MAX_SESSIONS_PER_USER - 1]);
  for (let number = 0; number < removed; number++) yield* recordAudit(closedEntry(user, "too_many", opened));
}

/** The entry of a session that ended for another one, in the log of its user's account. */
function closedEntry({ id, email, accountId }: User, reason: string, opened: AuditEntry): AuditEntry {
  const who = { kind: "user", id, name: email } as const;
  return { ...opened, accountId, actor: who, action: "session.closed", subject: who, details: { reason } };
}

/** Whether the user may still sign in, with what it has proved. */
function isUnchanged(now: User, checked: User): boolean {
  return !now.isDisabled && now.role === checked.role && now.passwordHash === checked.passwordHash;
}

function toSession(row: Row): UserSession {
  return {
    id: row.session_id,
    userId: row.id,
    createdAt: row.session_created_at,
    lastUsedAt: row.session_last_used_at,
    source: row.session_source ?? undefined,
    method: row.session_method,
  };
}
