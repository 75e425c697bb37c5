import { MASK, SecretMasker } from "./secret-masker.ts";

export { MASK, SecretMasker } from "./secret-masker.ts";

/** Credentials of this system: `ek_` API keys, `ed_` device tokens, `eb_` browser tokens. */
const TOKEN = /\b(e[bdk]_)[A-Za-z0-9_-]{16,}/g;

/** Replaces every API key and device token in a text. */
export function maskTokens(text: string): string {
  return text.replaceAll(TOKEN, `$1${MASK}`);
}

/**
 * Replaces the given secrets in a text, in all forms of `secretForms`, also truncated before an ellipsis. For text from
 * outside that may repeat an app's secrets: an engine's error, a health check's output. For many texts, create one
 * `SecretMasker`.
 */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  return maskTokens(new SecretMasker(secrets).mask(text, { atEnd: "if_ellipsis" }));
}
