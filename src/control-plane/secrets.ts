import { createHash, randomBytes } from "node:crypto";

/** What a secret is for, readable from its first characters: `ek_` an API key, `ed_` a device token. */
export type SecretPrefix = "ek_" | "ed_";

const SECRET_BYTES = 32;
const ID_BYTES = 12;

/** A new secret: the prefix and 32 random bytes. Shown to its owner once; only its hash is kept. */
export function createSecret(prefix: SecretPrefix): string {
  return prefix + randomBytes(SECRET_BYTES).toString("base64url");
}

/**
 * What is kept of a secret. A plain hash is enough: the secret is random and long, so there is nothing to guess
 * that a slow hash would protect.
 */
export function hashSecret(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

/** A new identifier that nobody can guess from another: the prefix and 24 hexadecimal digits. */
export function createId(prefix: "acc_" | "key_" | "dep_"): string {
  return prefix + randomBytes(ID_BYTES).toString("hex");
}
