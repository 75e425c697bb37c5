import { isRole, type Role } from "../../core/people/roles.ts";
import { emailKey, type User } from "../../core/people/user.ts";
import type { Value } from "./statement.ts";

export interface UserRow {
  readonly id: string;
  readonly account_id: string;
  readonly email: string;
  readonly name: string;
  readonly role: string;
  readonly password_hash: string | null;
  readonly oidc_issuer: string | null;
  readonly oidc_subject: string | null;
  readonly is_disabled: number;
  readonly created_at: number;
  readonly last_sign_in_at: number | null;
}

const NAMES = [
  "id",
  "account_id",
  "email",
  "name",
  "role",
  "password_hash",
  "oidc_issuer",
  "oidc_subject",
  "is_disabled",
  "created_at",
  "last_sign_in_at",
] as const satisfies readonly (keyof UserRow)[];

/** Columns of a `UserRow`, for a query with the table alias `u`. */
export const USER_COLUMNS = NAMES.map((name) => `u.${name}`).join(", ");

/** Inserts nothing if another user has the address or the identity. */
export const INSERT_USER = /* sql */ `
  INSERT INTO users (${NAMES.join(", ")}, email_key) VALUES (${[...NAMES, ""].map(() => "?").join(", ")})
  ON CONFLICT DO NOTHING`;

/** The parameters of `INSERT_USER`. */
export function valuesOf(user: User): readonly Value[] {
  const { id, accountId, email, name, role, passwordHash, oidc, isDisabled, createdAt, lastSignInAt } = user;
  const identity = [oidc?.issuer ?? null, oidc?.subject ?? null];
  const times = [createdAt, lastSignInAt ?? null];
  const values = [id, accountId, email, name, role, passwordHash ?? null, ...identity, Number(isDisabled), ...times];
  return [...values, emailKey(email)];
}

export function toUser(row: UserRow): User {
  const { oidc_issuer: issuer, oidc_subject: subject } = row;
  return {
    id: row.id,
    accountId: row.account_id,
    email: row.email,
    name: row.name,
    role: toRole(row.role),
    passwordHash: row.password_hash ?? undefined,
    oidc: issuer === null || subject === null ? undefined : { issuer, subject },
    isDisabled: row.is_disabled === 1,
    createdAt: row.created_at,
    lastSignInAt: row.last_sign_in_at ?? undefined,
  };
}

/** A role that a later release may know gives the least that there is. */
export function toRole(text: string): Role {
  return isRole(text) ? text : "viewer";
}
