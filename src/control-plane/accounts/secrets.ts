import { createHmac, hash, randomBytes } from "node:crypto";

/**
 * The kind of a secret: `ek_` for an API key, `ed_` for a device token, `es_` for a session, `eb_` for a browser that a user
 * has signed in with, `ec_` for a code of a link, `el_` for the log-in of a program.
 */
export type SecretPrefix = "ek_" | "ed_" | "es_" | "eb_" | "ec_" | "el_";

const SECRET_BYTES = 32;
const ID_BYTES = 12;

/** Creates a secret from the prefix and 32 random bytes. It is shown to its owner once; only its hash is stored. */
export function createSecret(prefix: SecretPrefix): string {
  return prefix + randomBytes(SECRET_BYTES).toString("base64url");
}

/** Returns the secret that belongs to another one, always the same. */
export function deriveSecret(prefix: SecretPrefix, from: string): string {
  return prefix + createHmac("sha256", from).update(prefix).digest("base64url");
}

/**
 * Hashes a secret for storage. A fast hash is enough, since a secret of 32 random bytes cannot be guessed.
 */
export function hashSecret(secret: string): Uint8Array {
  return hash("sha256", secret, "buffer");
}

/** Creates an unpredictable identifier: the prefix and 24 hexadecimal digits. */
export function createId(
  prefix: "acc_" | "key_" | "dep_" | "ins_" | "usr_" | "ses_" | "flt_" | "rol_" | "pln_" | "alr_" | "grp_" | "sil_",
): string {
  return prefix + randomBytes(ID_BYTES).toString("hex");
}
