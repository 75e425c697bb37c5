import { createHash, type Hash } from "node:crypto";
import { type ContentDigest, LayoutError } from "./layer-layout.ts";

/** Bytes of a SHA-256 that name a content. */
export const CONTENT_DIGEST_BYTES = 16;

const SHA256 = /^(?:sha256:)?(?<hex>[0-9a-f]{64})$/u;

export function contentDigest(bytes: Uint8Array): ContentDigest {
  return digestOfHash(createHash("sha256").update(bytes));
}

/** Ends the hash. */
export function digestOfHash(hash: Hash): ContentDigest {
  return hash.digest("hex").slice(0, CONTENT_DIGEST_BYTES * 2);
}

/**
 * @param text a whole SHA-256 in hexadecimal, with or without `sha256:`
 * @throws {LayoutError}
 */
export function parseContentDigest(text: unknown): ContentDigest {
  const hex = typeof text === "string" ? SHA256.exec(text)?.groups?.["hex"] : undefined;
  if (hex === undefined) throw new LayoutError("a digest is not a SHA-256");
  return hex.slice(0, CONTENT_DIGEST_BYTES * 2);
}
