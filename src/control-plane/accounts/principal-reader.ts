import { type Clock, unixNow } from "../../lib/clock.ts";
import { isWithinLifetime } from "../core/lifetime.ts";
import { isSessionLive, isUseDue, sessionEnd } from "../core/people/session.ts";
import { hashSecret } from "./secrets.ts";
import type { ApiKey } from "../store/accounts.ts";
import type { Store } from "../store/store.ts";
import type { KeyPrincipal, Principal, UserPrincipal } from "./principal.ts";

/** Longest key and session secret; a longer text is neither. */
export const MAX_SECRET_LENGTH = 128;
/** Resolution of the time of last use. A write for every request would cost more than the request. */
const LAST_USED_RESOLUTION_S = 60;

/** Finds out who acts with a secret. Revocation and expiry are checked at each call. */
export class PrincipalReader {
  readonly #store: Pick<Store, "keys" | "userSessions">;
  readonly #clock: Clock;

  constructor(store: Pick<Store, "keys" | "userSessions">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** @param secret as `apiKeyOf` returns it */
  async ofKey(secret: unknown): Promise<KeyPrincipal | undefined> {
    if (!isSecret(secret)) return undefined;
    const key = await this.#store.keys.findKeyByHash(hashSecret(secret));
    return key && this.#ofKey(key);
  }

  /** @param secret the value of the session cookie */
  async ofSession(secret: unknown): Promise<UserPrincipal | undefined> {
    return isSecret(secret) ? this.#ofSession(hashSecret(secret)) : undefined;
  }

  /** Returns the principal as it is now; `undefined` if its key or session has ended. */
  async refresh(principal: Principal): Promise<Principal | undefined> {
    if (principal.kind === "user") return this.#ofSession(principal.sessionHash);
    const key = await this.#store.keys.findKey(principal.id);
    return key && this.#ofKey(key);
  }

  /** Stores that the key or the session is in use, which makes a session last longer. */
  async recordUse(principal: Principal): Promise<void> {
    const now = unixNow(this.#clock);
    if (principal.kind === "user") {
      const { session, sessionHash } = principal;
      if (isUseDue(session, now)) await this.#store.userSessions.recordSessionUse(sessionHash, now);
    } else if (now - (principal.key.lastUsedAt ?? 0) >= LAST_USED_RESOLUTION_S) {
      await this.#store.keys.recordKeyUse(principal.id, now);
    }
  }

  #ofKey(key: ApiKey): KeyPrincipal | undefined {
    const { id, accountId, name, role, createdAt, expiresAt, revokedAt } = key;
    if (revokedAt !== undefined) return undefined;
    if (expiresAt !== undefined && !isWithinLifetime({ createdAt, expiresAt }, unixNow(this.#clock))) return undefined;
    return { kind: "key", id, accountId, name, role, expiresAt, key };
  }

  async #ofSession(sessionHash: Uint8Array): Promise<UserPrincipal | undefined> {
    const found = await this.#store.userSessions.findSession(sessionHash);
    if (!found || found.user.isDisabled || !isSessionLive(found.session, unixNow(this.#clock))) return undefined;
    const { session, user } = found;
    const { id, accountId, name, role } = user;
    return { kind: "user", id, accountId, name, role, expiresAt: sessionEnd(session), user, session, sessionHash };
  }
}

function isSecret(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_SECRET_LENGTH;
}
