import { sanitizeLine } from "../../lib/terminal/sanitize.ts";

const DIGITS = 12;

/** The first digits of a digest, as Docker shows them. */
export function shortDigest(digest: string): string {
  return sanitizeLine(digest.replace("sha256:", "").slice(0, DIGITS));
}
