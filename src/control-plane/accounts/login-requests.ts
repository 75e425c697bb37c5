import { randomBytes } from "node:crypto";
import { type Clock, unixNow } from "../../lib/clock.ts";
import { formatUserCode, USER_CODE_ALPHABET, USER_CODE_LENGTH } from "../../protocol/people/login-request.ts";
import { auditEntry } from "./audit-entry.ts";
import { KEY_BOUNDS } from "../core/people/key-limits.ts";
import { LOGIN_REQUEST_S } from "../core/people/login-request.ts";
import { createId, createSecret, deriveSecret, hashSecret } from "./secrets.ts";
import type { ApiKey } from "../store/accounts.ts";
import type { LoginResult } from "../store/login-requests.ts";
import type { Store } from "../store/store.ts";

interface Services {
  readonly store: Pick<Store, "loginRequests">;
  readonly clock: Clock;
}

/** The codes of a log-in that has begun; only their hashes are stored. */
export interface LoginCodes {
  readonly deviceCode: string;
  /** In two groups. */
  readonly userCode: string;
}

/**
 * Begins a log-in of a program. Returns `undefined` if too many wait to be confirmed.
 *
 * @param onBounded called if that is so, or another one fell for this one
 */
export async function beginLogin(
  { store, clock }: Services,
  clientName: string,
  source: string,
  onBounded: () => void = () => {},
): Promise<LoginCodes | undefined> {
  const deviceCode = createSecret("el_");
  const userCode = createUserCode();
  const createdAt = unixNow(clock);
  const expiresAt = createdAt + LOGIN_REQUEST_S;
  const result = await store.loginRequests.createLoginRequest(
    { clientName, source, createdAt, expiresAt, state: "pending" },
    { deviceCode: hashSecret(deviceCode), userCode: userCodeHash(userCode) },
  );
  if (result !== "created") onBounded();
  return result !== "too_many" ? { deviceCode, userCode: formatUserCode(userCode) } : undefined;
}

/**
 * Makes the key of a log-in that was confirmed, once. Returns its secret with it, which follows from the device code: a program
 * that has lost the response gets the same key again until the request expires.
 */
export async function takeLoginKey(
  { store, clock }: Services,
  deviceCode: string,
  source: string,
): Promise<{ readonly result: LoginResult; readonly secret: string }> {
  const secret = deriveSecret("ek_", deviceCode);
  const id = createId("key_");
  const now = unixNow(clock);
  const take = store.loginRequests.takeLogin(hashSecret(deviceCode), now, KEY_BOUNDS, (user, grant) => {
    const key: ApiKey = {
      id,
      accountId: user.accountId,
      name: grant.name,
      createdAt: now,
      lastUsedAt: undefined,
      revokedAt: undefined,
      permissions: [],
      role: grant.role,
      expiresAt: grant.expiresAt,
      createdBy: user.id,
      originId: user.id,
      isPersonal: true,
    };
    const origin = {
      accountId: user.accountId,
      actor: { kind: "user", id: user.id, name: user.email },
      source,
    } as const;
    const details = { role: grant.role, expires_at: grant.expiresAt, login: true };
    const subject = { kind: "key", id, name: grant.name };
    const audit = auditEntry(origin, clock, { action: "key.created", subject, details });
    return { key, hash: hashSecret(secret), audit };
  });
  return { result: await take, secret };
}

/** @param code without the hyphen */
export function userCodeHash(code: string): Uint8Array {
  return hashSecret(`user code ${code}`);
}

function createUserCode(): string {
  // 32 characters: five bits of each byte, so the distribution is uniform.
  return [...randomBytes(USER_CODE_LENGTH)]
    .map((byte) => USER_CODE_ALPHABET[byte % USER_CODE_ALPHABET.length])
    .join("");
}
