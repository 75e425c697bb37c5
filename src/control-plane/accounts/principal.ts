import type { Role } from "../core/people/roles.ts";
import type { UserSession } from "../core/people/session.ts";
import type { User } from "../core/people/user.ts";
import type { ApiKey } from "../store/accounts.ts";

interface Acting {
  /** Of the key or the user. */
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly role: Role;
}

/** A program that acts with an API key. */
export interface KeyPrincipal extends Acting {
  readonly kind: "key";
  /** Unix seconds; `undefined` for never. */
  readonly expiresAt: number | undefined;
  readonly key: ApiKey;
}

/** A person who is signed in. */
export interface UserPrincipal extends Acting {
  readonly kind: "user";
  /** When the session ends unless it is used before, in Unix seconds. */
  readonly expiresAt: number;
  readonly user: User;
  readonly session: UserSession;
  readonly sessionHash: Uint8Array;
}

/** Who a request acts as in its account. */
export type Principal = KeyPrincipal | UserPrincipal;

/** The fields of log lines that name the principal. */
export function principalFields({ kind, id }: Pick<Principal, "kind" | "id">): Readonly<Record<string, string>> {
  return kind === "key" ? { key_id: id } : { user_id: id };
}
