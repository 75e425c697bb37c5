import type { LoginRequest } from "../core/people/login-request.ts";
import type { KeyBounds } from "../core/people/key-limits.ts";
import type { Role } from "../core/people/roles.ts";
import type { User } from "../core/people/user.ts";
import type { ApiKey } from "./accounts.ts";
import type { AuditEntry } from "./audit.ts";

/** Log-ins of programs that are kept at a time in the whole service: those that wait, and those of the last minutes. */
export const MAX_LOGIN_REQUESTS = 10_000;
/** Log-ins of programs that wait at a time for the same source. */
export const MAX_LOGIN_REQUESTS_PER_SOURCE = 20;

export type LoginRequestCreation = "created" | "created_for_another" | "too_many";

export type LoginDecision = "decided" | "unknown" | "decided_before" | "signed_out";

export type LoginResult =
  | { readonly kind: "key"; readonly key: ApiKey; readonly user: User }
  | { readonly kind: "pending" | "denied" | "expired" | "unknown" };

export interface LoginRequestStore {
  /**
   * Stores a request, unless too many wait for its source. If there is no room, the newest one of the network with the most
   * falls for it, unless the request is of such a network itself. Requests that have expired are removed.
   *
   * @param hashes unique
   */
  createLoginRequest(
    request: LoginRequest,
    hashes: { readonly deviceCode: Uint8Array; readonly userCode: Uint8Array },
    maxRequests?: number,
  ): Promise<LoginRequestCreation>;
  /** Returns the request with this user code, even if it has expired. */
  findLoginRequest(userCode: Uint8Array): Promise<LoginRequest | undefined>;
  /** Records what a person decided about a request that waits and has not expired, if the person is still signed in. */
  decideLoginRequest(
    userCode: Uint8Array,
    decision: {
      /** Unix seconds. */
      readonly at: number;
      readonly userId: string;
      /** Of the person. */
      readonly sessionHash: Uint8Array;
      /** `undefined`: denied. */
      readonly grant: { readonly role: Role; readonly expiresAt: number | undefined } | undefined;
    },
    audit: AuditEntry,
  ): Promise<LoginDecision>;
  /**
   * Makes the key of an approved request. Another call returns the same key, as long as it is not revoked. The role is at most what the
   * user has by then; a user who was disabled or removed meanwhile has approved nothing. If the user has as many keys of log-ins
   * as it may, the one that was used least recently is revoked.
   *
   * @param createKey returns the key; must be pure, since it may be called again
   */
  takeLogin(
    deviceCode: Uint8Array,
    at: number,
    bounds: KeyBounds,
    createKey: (
      user: User,
      grant: { readonly role: Role; readonly expiresAt: number | undefined; readonly name: string },
    ) => {
      readonly key: ApiKey;
      readonly hash: Uint8Array;
      readonly audit: AuditEntry;
    },
  ): Promise<LoginResult>;
}
