import { type Hash, hash as hashAtOnce } from "node:crypto";
import { type ContentDigest, LayoutError } from "./layer-layout.ts";

/**
 * Bytes of a SHA-256 that name a content. They are most of what an index has, and it is worth reading only while it is small.
 * A false match within a fleet is as good as impossible with 80 bits, and costs a download: the digest of the whole layer is
 * checked.
 */
export const CONTENT_DIGEST_BYTES = 10;

/** The same in hexadecimal digits. */
const CONTENT_DIGEST_DIGITS = CONTENT_DIGEST_BYTES * 2;

const SHA256 = /^(?:sha256:)?(?<hex>[0-9a-f]{64})$/u;

export function contentDigest(bytes: Uint8Array): ContentDigest {
  // A hash object for each small content takes three times as long.
  return hashAtOnce("sha256", bytes, "hex").slice(0, CONTENT_DIGEST_DIGITS);
}

/** Ends the hash. */
export function digestOfHash(hash: Hash): ContentDigest {
  return hash.digest("hex").slice(0, CONTENT_DIGEST_DIGITS);
}

/**
 * @param text a whole SHA-256 in hexadecimal, with or without `sha256:`
 * @throws {LayoutError}
 */
export function parseContentDigest(text: unknown): ContentDigest {
  const hex = typeof text === "string" ? SHA256.exec(text)?.groups?.["hex"] : undefined;
  if (hex === undefined) throw new LayoutError("a digest is not a SHA-256");
  return hex.slice(0, CONTENT_DIGEST_DIGITS);
}
