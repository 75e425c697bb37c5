import { hash as digest } from "node:crypto";
import type { ApiKey } from "./accounts.ts";

const DOMAIN = "key 2\0";

/** Whether the key may do less than everything, or not for ever. */
export function isLimitedKey({ role, expiresAt }: Pick<ApiKey, "role" | "expiresAt">): boolean {
  return role !== "admin" || expiresAt !== undefined;
}

/**
 * Returns the hash under which a limited key is stored, from the hash of its secret. Releases that know neither roles nor
 * expiry look for the latter only: one that still serves the same database refuses limited keys.
 */
export function limitedKeyHash(hash: Uint8Array): Uint8Array {
  return digest("sha256", Buffer.concat([Buffer.from(DOMAIN, "latin1"), hash]), "buffer");
}
