import { MASK, SecretMasker } from "./secret-masker.ts";

export { MASK, SecretMasker } from "./secret-masker.ts";

/** Keys and tokens of this system, wherever they turn up: `ek_` API keys, `ed_` device tokens. */
const TOKEN = /\b(e[kd]_)[A-Za-z0-9_-]{16,}/g;

/** Replaces every API key and device token in a text. */
export function maskTokens(text: string): string {
  return text.replaceAll(TOKEN, `$1${MASK}`);
}

/**
 * Replaces every occurrence of the given secrets in a text, in each of the forms they usually reappear in, and what is
 * left of one before an ellipsis. For a text that comes from outside and may repeat what the app was given: an engine's
 * error, the output of a health check. For many texts, make one `Masker`.
 */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  return maskTokens(new SecretMasker(secrets).mask(text, { atEnd: "if_ellipsis" }));
}
