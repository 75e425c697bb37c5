/** What stands in place of a secret. */
export const MASK = "***";

// Shorter values ("1", "on") are no secrets, and masking them would make text unreadable.
const SHORTEST_SECRET = 4;

/** Keys and tokens of this system, wherever they turn up: `ek_` API keys, `ed_` device tokens. */
const TOKEN = /\b(e[kd]_)[A-Za-z0-9_-]{16,}/g;

/** Replaces every API key and device token in a text. */
export function maskTokens(text: string): string {
  return text.replaceAll(TOKEN, `$1${MASK}`);
}

/**
 * Replaces every occurrence of the given secrets in a text, also where JSON escaped them. For text that comes from
 * outside and may repeat what the app was given: container logs, engine errors, health check output.
 */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= SHORTEST_SECRET);
  const forms = new Set(known.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]));
  // Longest first: one secret may be a part of another.
  const ordered = [...forms].toSorted((a, b) => b.length - a.length);
  return maskTokens(ordered.reduce((masked, secret) => masked.replaceAll(secret, MASK), text));
}
