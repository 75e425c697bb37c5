import type { Role } from "./roles.ts";

/** Maximum number of users of one account. */
export const MAX_USERS_PER_ACCOUNT = 1_000;

/** Longest address, as in SMTP. */
const MAX_EMAIL_LENGTH = 254;

const EMAIL = /^[^\s@\p{Cc}\p{Cf}]{1,64}@[^\s@\p{Cc}\p{Cf}]+$/u;

/** A person of one account. Times are Unix seconds. */
export interface User {
  readonly id: string;
  readonly accountId: string;
  /** As it was typed. */
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  /** A PHC string; `undefined` until an invitation was accepted, and for users who sign in elsewhere. */
  readonly passwordHash: string | undefined;
  /** Who the user is at an OpenID Connect provider. */
  readonly oidc: { readonly issuer: string; readonly subject: string } | undefined;
  readonly isDisabled: boolean;
  readonly createdAt: number;
  readonly lastSignInAt: number | undefined;
}

/** Whether the text has the form of an address. */
export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && text.isWellFormed() && EMAIL.test(text);
}

/** Returns the form of an address that is compared: two that differ in case or composition only are the same. */
export function emailKey(email: string): string {
  // Normalization may make a space of what was none.
  return email.normalize("NFKC").toLowerCase().normalize("NFKC").trim();
}

/** Whether the user can sign in with a password, and may do everything then. */
export function isLocalAdmin({
  role,
  passwordHash,
  isDisabled,
}: Pick<User, "role" | "passwordHash" | "isDisabled">): boolean {
  return role === "admin" && passwordHash !== undefined && !isDisabled;
}

/**
 * Whether a change would take the account's last local admin away. Without one, no person could sign in while
 * the provider of identities fails.
 *
 * @param after the user as changed; `undefined` if it is removed
 */
export function removesLastAdmin(users: readonly User[], userId: string, after: User | undefined): boolean {
  const changed = users.find(({ id }) => id === userId);
  if (!changed || !isLocalAdmin(changed) || (after && isLocalAdmin(after))) return false;
  return !users.some((user) => user.id !== userId && isLocalAdmin(user));
}
