import type { CodePurpose, OneTimeCode } from "../../core/people/one-time-code.ts";
import { change, one, type Work } from "./statement.ts";

/** How long used and expired codes are kept for precise error messages, in seconds. */
export const CODE_RETENTION_S = 30 * 24 * 3600;

export interface CodeRow {
  readonly purpose: CodePurpose;
  readonly account_id: string | null;
  readonly user_id: string | null;
  readonly created_at: number;
  readonly expires_at: number;
  readonly used_at: number | null;
}

const INSERT = /* sql */ `
  INSERT INTO one_time_codes (hash, purpose, account_id, user_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)`;
const REMOVE_UNUSED_OF_USER = "DELETE FROM one_time_codes WHERE user_id = ? AND used_at IS NULL";
const REMOVE_UNUSED_OF_SETUP = /* sql */ `
  DELETE FROM one_time_codes WHERE purpose = 'setup' AND used_at IS NULL AND account_id IS NOT DISTINCT FROM ?`;
const USE = "UPDATE one_time_codes SET used_at = ?1 WHERE hash = ?2 AND used_at IS NULL AND expires_at > ?1";

export const FIND_CODE = /* sql */ `
  SELECT purpose, account_id, user_id, created_at, expires_at, used_at FROM one_time_codes WHERE hash = ?`;

/** Stores a code in place of unused ones. The caller has locked what the code is of. */
export function* replaceCode(code: OneTimeCode, hash: Uint8Array): Work<void> {
  const { purpose, accountId, userId, createdAt, expiresAt } = code;
  if (userId === undefined) yield* change(REMOVE_UNUSED_OF_SETUP, [accountId ?? null]);
  else yield* removeUnusedCodes(userId);
  yield* change(INSERT, [hash, purpose, accountId ?? null, userId ?? null, createdAt, expiresAt]);
}

export function* removeUnusedCodes(userId: string): Work<void> {
  yield* change(REMOVE_UNUSED_OF_USER, [userId]);
}

export function* findCode(hash: Uint8Array): Work<OneTimeCode | undefined> {
  const row = yield* one<CodeRow>(FIND_CODE, [hash]);
  return row && toCode(row);
}

/** Marks a code as used. Returns false if it was used before, or has expired. */
export function* useCode(hash: Uint8Array, at: number): Work<boolean> {
  return (yield* change(USE, [at, hash])) > 0;
}

export function toCode(row: CodeRow): OneTimeCode {
  return {
    purpose: row.purpose,
    accountId: row.account_id ?? undefined,
    userId: row.user_id ?? undefined,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    usedAt: row.used_at ?? undefined,
  };
}
