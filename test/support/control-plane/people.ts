import type { AuditAction } from "../../../src/control-plane/core/people/audit-actions.ts";
import type { CodePurpose, OneTimeCode } from "../../../src/control-plane/core/people/one-time-code.ts";
import type { UserSession } from "../../../src/control-plane/core/people/session.ts";
import type { PasswordAlgorithm } from "../../../src/control-plane/core/people/password-hash.ts";
import type { User } from "../../../src/control-plane/core/people/user.ts";
import type { AuditEntry } from "../../../src/control-plane/store/audit.ts";

let count = 0;

/** For tests that are about something else than what a hash costs. */
export const QUICK_HASH: PasswordAlgorithm = { name: "argon2id", memoryKib: 64, passes: 1, lanes: 1 };

/** A user with a password and an address of its own. */
export function someUser(fields: Partial<User> = {}): User {
  const number = String(++count).padStart(6, "0");
  return {
    id: `usr_${number}`,
    accountId: "acc_1",
    email: `User${number}@example.com`,
    name: `User ${number}`,
    role: "viewer",
    passwordHash: `$hash ${number}`,
    oidc: undefined,
    isDisabled: false,
    createdAt: count,
    lastSignInAt: undefined,
    ...fields,
  };
}

export function someSession({ id }: User, fields: Partial<UserSession> = {}): UserSession {
  return {
    id: `ses_${++count}`,
    userId: id,
    createdAt: 1_000,
    lastUsedAt: 1_000,
    source: "192.0.2.1",
    method: "password",
    ...fields,
  };
}

export function someCode(purpose: CodePurpose, user: User | undefined, fields: Partial<OneTimeCode> = {}): OneTimeCode {
  return {
    purpose,
    accountId: user?.accountId,
    userId: user?.id,
    createdAt: 1_000,
    expiresAt: 2_000,
    usedAt: undefined,
    ...fields,
  };
}

/** An entry of the audit log for an action of the command line. */
export function someAudit(action: AuditAction, accountId = "acc_1"): AuditEntry {
  return {
    accountId,
    at: 1_000,
    actor: { kind: "command_line", id: "root", name: "root" },
    source: undefined,
    action,
    assetUuid: "",
    app: "",
    outcome: "ok",
    details: {},
    subject: { kind: "user", id: "usr_1", name: "jane@example.com" },
  };
}
