import type { ApiKey } from "./accounts.ts";

/** Marks the hash of a limited key. */
const LIMITED = Uint8Array.of(2);

type Limits = Pick<ApiKey, "role" | "expiresAt">;

/** Whether the key may do less than everything, or not for ever. */
function isLimited({ role, expiresAt }: Limits): boolean {
  return role !== "admin" || expiresAt !== undefined;
}

/**
 * Returns what is stored for a key with this hash of its secret. That of a limited key is marked: releases that know neither
 * roles nor expiry look for the hash alone, so that one that still serves the same database refuses limited keys.
 */
export function storedKeyHash(key: Limits, hash: Uint8Array): Uint8Array {
  return isLimited(key) ? markedKeyHash(hash) : hash;
}

/** Returns the hash of the secret from what is stored for the key. */
export function plainKeyHash(key: Limits, stored: Uint8Array): Uint8Array {
  return isLimited(key) ? stored.subarray(LIMITED.length) : stored;
}

export function markedKeyHash(hash: Uint8Array): Uint8Array {
  return Buffer.concat([LIMITED, hash]);
}
