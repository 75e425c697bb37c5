import { isDeepStrictEqual } from "node:util";
import { codeState, type OneTimeCode } from "../../core/people/one-time-code.ts";
import { emailKey, isLocalAdmin, type User } from "../../core/people/user.ts";
import type { Role } from "../../core/people/roles.ts";
import type { AuditEntry } from "../audit.ts";
import type { Precondition } from "../precondition.ts";
import type {
  CodeAcceptance,
  CodeIssue,
  IdentityLink,
  PasswordProof,
  SetUp,
  SetUpResult,
  UserChange,
  UserChangeResult,
  UserCreationResult,
  UserStore,
} from "../users.ts";
import { recordAudit } from "./audit.ts";
import { appendAccountEvents } from "./append-events.ts";
import type { Executor } from "./executor.ts";
import { FIND_SESSION, lockAccount } from "./keys.ts";
import { denyApprovedLogins, keptRoles, reportRevoked, revokePersonalKeys, type Revoking } from "./login-requests.ts";
import { change, one, type Work } from "./statement.ts";
import { type CodeRow, FIND_CODE, findCode, removeUnusedCodes, replaceCode, toCode, useCode } from "./user-codes.ts";
import { INSERT_USER, toUser, USER_COLUMNS, type UserRow, valuesOf } from "./user-row.ts";

const FIND_ANY = "SELECT 1 AS found FROM users LIMIT 1";
const FIND = `SELECT ${USER_COLUMNS} FROM users u WHERE u.id = ?`;
const FIND_BY_EMAIL = `SELECT ${USER_COLUMNS} FROM users u WHERE u.email_key = ?`;
const FIND_BY_IDENTITY = `SELECT ${USER_COLUMNS} FROM users u WHERE u.oidc_issuer = ? AND u.oidc_subject = ?`;
const LIST = `SELECT ${USER_COLUMNS} FROM users u WHERE u.account_id = ? ORDER BY u.created_at, u.id`;
const COUNT = "SELECT count(*) AS users FROM users WHERE account_id = ?";
const FIND_OTHER_ADMIN = /* sql */ `
  SELECT 1 AS found FROM users WHERE account_id = ? AND id <> ? AND role = 'admin' AND is_disabled = 0
    AND password_hash IS NOT NULL LIMIT 1`;
const CHANGE = /* sql */ `
  UPDATE users SET name = ?, role = ?, is_disabled = ?, password_hash = ?, email = ?, email_key = ? WHERE id = ?`;
const REMOVE = "DELETE FROM users WHERE id = ?";
const LINK = "UPDATE users SET oidc_issuer = ?, oidc_subject = ?, role = ? WHERE id = ?";
const REPLACE_HASH = "UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?";
const RECORD_SIGN_IN = "UPDATE users SET last_sign_in_at = ? WHERE id = ?";
const REMOVE_SESSIONS = "DELETE FROM user_sessions WHERE user_id = ?";
const INSERT_ACCOUNT = "INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)";

/** No stored text contains it, and PostgreSQL refuses it in a parameter. */
const NUL = "\0";

/** Rolls back the transaction of a set-up. */
class EmailTakenError extends Error {}

export class SqlUserStore implements UserStore {
  readonly #executor: Executor;
  readonly #onKeysRevoked: () => void;
  readonly #lockUser: string;
  readonly #lockAdmins: string;
  readonly #lockSetUp: string;
  readonly #lockAccount: string;

  /** @param onKeysRevoked called when keys were revoked with a change of their user */
  constructor(executor: Executor, onKeysRevoked: () => void = () => {}) {
    this.#executor = executor;
    this.#onKeysRevoked = onKeysRevoked;
    const { lockRows } = executor.dialect;
    this.#lockUser = `${FIND} ${lockRows}`;
    // In order, so that no two transactions wait for each other. The count is all the caller needs.
    this.#lockAdmins = /* sql */ `
      SELECT count(*) AS locked FROM (
        SELECT id FROM users WHERE account_id = ? AND role = 'admin' ORDER BY id ${lockRows}) admins`;
    this.#lockAccount = lockAccount(executor);
    this.#lockSetUp = `SELECT id FROM service_state WHERE id = 1 ${lockRows}`;
  }

  async hasUsers(): Promise<boolean> {
    return (await this.#executor.one(FIND_ANY)) !== undefined;
  }

  async findUser(id: string): Promise<User | undefined> {
    return this.#find(FIND, id);
  }

  async findUserByEmail(email: string): Promise<User | undefined> {
    return this.#find(FIND_BY_EMAIL, emailKey(email));
  }

  async findUserByIdentity(issuer: string, subject: string): Promise<User | undefined> {
    return this.#find(FIND_BY_IDENTITY, issuer, subject);
  }

  async listUsers(accountId: string): Promise<readonly User[]> {
    return (await this.#executor.all<UserRow>(LIST, [accountId])).map(toUser);
  }

  async createUser(
    user: User,
    invitation: { readonly code: OneTimeCode; readonly hash: Uint8Array } | undefined,
    audit: AuditEntry,
    maxUsers?: number,
  ): Promise<UserCreationResult> {
    const lock = this.#lockAccount;
    return this.#executor.transact(function* (): Work<UserCreationResult> {
      if (maxUsers !== undefined) {
        // Locked: users who are created at the same time would not count each other.
        yield* one(lock, [user.accountId]);
        const { users = 0 } = (yield* one<{ readonly users: number }>(COUNT, [user.accountId])) ?? {};
        if (users >= maxUsers) return "too_many";
      }
      if ((yield* change(INSERT_USER, valuesOf(user))) === 0) return "taken";
      if (invitation) yield* replaceCode(invitation.code, invitation.hash);
      yield* tellChanged(user);
      yield* recordAudit(audit);
      return "created";
    });
  }

  async changeUser(
    accountId: string,
    id: string,
    changes: UserChange,
    audit: AuditEntry,
    required: { readonly proof?: PasswordProof; readonly precondition?: Precondition<User> | undefined } = {},
  ): Promise<UserChangeResult> {
    return this.#revoking(() => this.#change(accountId, id, changes, audit, required));
  }

  async removeUser(
    accountId: string,
    id: string,
    audit: AuditEntry,
    precondition?: Precondition<User>,
  ): Promise<UserChangeResult> {
    return this.#revoking(() => this.#remove(accountId, id, audit, precondition));
  }

  async linkIdentity(link: IdentityLink): Promise<User | undefined> {
    return this.#executor.transact(() => this.#link(link));
  }

  async recordSignIn(id: string, at: number): Promise<void> {
    await this.#executor.change(RECORD_SIGN_IN, [at, id]);
  }

  async replaceHash(id: string, from: string, to: string): Promise<User | undefined> {
    return this.#executor.transact(function* (): Work<User | undefined> {
      if ((yield* change(REPLACE_HASH, [to, id, from])) === 0) return undefined;
      const row = yield* one<UserRow>(FIND, [id]);
      return row && toUser(row);
    });
  }

  async issueCode(code: OneTimeCode, hash: Uint8Array, audit: AuditEntry | undefined): Promise<CodeIssue> {
    return this.#executor.transact(() => this.#issueCode(code, hash, audit));
  }

  async findCode(hash: Uint8Array): Promise<OneTimeCode | undefined> {
    const row = await this.#executor.one<CodeRow>(FIND_CODE, [hash]);
    return row && toCode(row);
  }

  async setUp(setUp: SetUp): Promise<SetUpResult> {
    try {
      return await this.#executor.transact(() => this.#setUp(setUp));
    } catch (error) {
      if (error instanceof EmailTakenError) return "email_taken";
      throw error;
    }
  }

  async acceptCode(acceptance: CodeAcceptance): Promise<User | undefined> {
    return this.#revoking(() => this.#accept(acceptance));
  }

  async #revoking<T>(start: () => Work<Revoking<T>>): Promise<T> {
    return (await reportRevoked(this.#executor.transact(start), this.#onKeysRevoked)).result;
  }

  async #find(sql: string, ...parameters: readonly string[]): Promise<User | undefined> {
    if (parameters.some((text) => text.includes(NUL))) return undefined;
    const row = await this.#executor.one<UserRow>(sql, parameters);
    return row && toUser(row);
  }

  *#change(
    accountId: string,
    id: string,
    changes: UserChange,
    audit: AuditEntry,
    { proof, precondition }: { readonly proof?: PasswordProof; readonly precondition?: Precondition<User> | undefined },
  ): Work<Revoking<UserChangeResult>> {
    const user = yield* this.#lock(accountId, id);
    if (!user) return { result: "unknown" };
    precondition?.(user);
    if (proof && !(yield* holds(user, proof))) return { result: "stale" };
    const after = { ...user, ...changes };
    if (yield* this.#isLastAdmin(user, after)) return { result: "last_admin" };
    if (changes.email !== undefined) {
      const holder = yield* one<UserRow>(FIND_BY_EMAIL, [emailKey(changes.email)]);
      if (holder && holder.id !== id) return { result: "email_taken" };
    }
    if (isDeepStrictEqual(after, user)) return { result: "changed" };
    yield* this.#store(after);
    if (changes.role !== undefined || changes.isDisabled !== undefined || changes.passwordHash !== undefined)
      yield* change(REMOVE_SESSIONS, [id]);
    if (after.isDisabled) yield* removeUnusedCodes(id);
    yield* tellChanged(user);
    const hasNewPassword = changes.passwordHash !== undefined;
    if (hasNewPassword || after.isDisabled) yield* denyApprovedLogins(id);
    const revoked = yield* this.#recordWithKeys(id, hasNewPassword ? [] : keptRoles(after), audit);
    return { result: "changed", revoked };
  }

  *#remove(
    accountId: string,
    id: string,
    audit: AuditEntry,
    precondition: Precondition<User> | undefined,
  ): Work<Revoking<UserChangeResult>> {
    const user = yield* this.#lock(accountId, id);
    if (!user) return { result: "unknown" };
    precondition?.(user);
    if (yield* this.#isLastAdmin(user, undefined)) return { result: "last_admin" };
    const revoked = yield* this.#recordWithKeys(id, [], audit);
    yield* change(REMOVE, [id]);
    yield* tellChanged(user);
    return { result: "changed", revoked };
  }

  *#issueCode(code: OneTimeCode, hash: Uint8Array, audit: AuditEntry | undefined): Work<CodeIssue> {
    // Without the lock, codes that are issued at the same time would not see, and so not remove, each other.
    if (code.userId === undefined) yield* one(this.#lockSetUp);
    else {
      const user = yield* one<UserRow>(this.#lockUser, [code.userId]);
      if (!user) return "unknown";
      if (user.is_disabled === 1) return "disabled";
    }
    yield* replaceCode(code, hash);
    if (audit) yield* recordAudit(audit);
    return "issued";
  }

  *#setUp({ codeHash, at, account, user, audit }: SetUp): Work<SetUpResult> {
    yield* one(this.#lockSetUp);
    const code = yield* findCode(codeHash);
    if (codeState(code, ["setup"], at) !== "usable") return "code_not_usable";
    // A code without an account makes the first one, a code of an account makes a user of that one alone.
    if (code?.accountId !== (account ? undefined : user.accountId)) return "code_not_usable";
    if (account) {
      if (yield* one(FIND_ANY)) return "users_exist";
      yield* change(INSERT_ACCOUNT, [account.id, account.name, account.createdAt]);
    }
    if ((yield* change(INSERT_USER, valuesOf(user))) === 0) throw new EmailTakenError();
    yield* useCode(codeHash, at);
    yield* tellChanged(user);
    yield* recordAudit(audit);
    return "done";
  }

  *#accept({ codeHash, at, passwordHash, name, audit }: CodeAcceptance): Work<Revoking<User | undefined>> {
    const code = yield* findCode(codeHash);
    if (code?.userId === undefined || codeState(code, ["invitation", "reset"], at) !== "usable")
      return { result: undefined };
    // The account before its users and these before their codes, as everywhere, so that no two transactions wait for each other.
    if (code.accountId !== undefined) yield* one(this.#lockAccount, [code.accountId]);
    const row = yield* one<UserRow>(this.#lockUser, [code.userId]);
    if (!row || row.is_disabled === 1 || !(yield* useCode(codeHash, at))) return { result: undefined };
    const user = toUser(row);
    const after = { ...user, passwordHash, name: name ?? user.name };
    yield* this.#store(after);
    yield* change(REMOVE_SESSIONS, [user.id]);
    yield* removeUnusedCodes(user.id);
    yield* tellChanged(user);
    // As with the sessions: they may have been made with the old password.
    yield* denyApprovedLogins(user.id);
    return { result: after, revoked: yield* this.#recordWithKeys(user.id, [], audit) };
  }

  *#link({ userId, identity, role, audit }: IdentityLink): Work<User | undefined> {
    const row = yield* one<UserRow>(this.#lockUser, [userId]);
    const user = row && toUser(row);
    if (!user || user.isDisabled) return undefined;
    const { issuer, subject } = identity;
    if (user.oidc) return user.oidc.issuer === issuer && user.oidc.subject === subject ? user : undefined;
    if (user.passwordHash !== undefined) return undefined;
    yield* change(LINK, [issuer, subject, role, userId]);
    yield* removeUnusedCodes(userId);
    yield* tellChanged(user);
    yield* recordAudit(audit);
    return { ...user, oidc: identity, role };
  }

  /**
   * Locks the account, its admins and then the user: a key that is being made would not be revoked with the user, and whether
   * it is the last admin depends on the others.
   */
  *#lock(accountId: string, id: string): Work<User | undefined> {
    yield* one(this.#lockAccount, [accountId]);
    yield* one(this.#lockAdmins, [accountId]);
    const row = yield* one<UserRow>(this.#lockUser, [id]);
    return row?.account_id === accountId ? toUser(row) : undefined;
  }

  *#isLastAdmin(user: User, after: User | undefined): Work<boolean> {
    if (!isLocalAdmin(user) || (after && isLocalAdmin(after))) return false;
    return !(yield* one(FIND_OTHER_ADMIN, [user.accountId, user.id]));
  }

  /** Revokes the keys that fall with the user and have none of these roles, says how many in the entry, and returns it. */
  *#recordWithKeys(id: string, kept: readonly Role[], audit: AuditEntry): Work<number> {
    const revoked = yield* revokePersonalKeys(id, kept, audit.at);
    const details = revoked > 0 ? { ...audit.details, revoked_keys: revoked } : audit.details;
    yield* recordAudit({ ...audit, details });
    return revoked;
  }

  *#store({ id, name, role, isDisabled, passwordHash, email }: User): Work<void> {
    yield* change(CHANGE, [name, role, Number(isDisabled), passwordHash ?? null, email, emailKey(email), id]);
  }
}

/** Whether what a user has proved is still so. A session ends with every change of the password. */
function* holds({ id, passwordHash }: User, proof: PasswordProof): Work<boolean> {
  return passwordHash === proof.passwordHash && (yield* one(FIND_SESSION, [proof.sessionHash, id])) !== undefined;
}

function tellChanged({ accountId, id }: User): Work<void> {
  return appendAccountEvents(accountId, [{ type: "user.changed", user_id: id }]);
}
