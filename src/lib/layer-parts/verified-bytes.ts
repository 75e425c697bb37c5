import { createHash } from "node:crypto";
import { contentDigest, digestOfHash } from "./content-digest.ts";
import type { PlacedBytes } from "./layer-layout.ts";

/** Larger parts are read twice instead of held in memory until they are checked: once to check, once to use. */
export const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;

type Expected = Pick<PlacedBytes, "digest" | "size">;

/**
 * Resolves to the bytes once they are known to be the expected ones, or to `undefined` if they are others, are missing, or
 * cannot be read.
 *
 * @param open called again for a large part
 */
export async function verifiedBytes(
  expected: Expected,
  open: () => AsyncIterable<Uint8Array> | undefined,
): Promise<Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined> {
  const bytes = open();
  if (bytes === undefined) return undefined;
  try {
    if (expected.size <= MAX_BUFFERED_BYTES) return await buffered(expected, bytes);
    return (await hasDigest(expected, bytes)) ? open() : undefined;
  } catch {
    return undefined;
  }
}

async function buffered(expected: Expected, bytes: AsyncIterable<Uint8Array>): Promise<[Uint8Array] | undefined> {
  const whole = Buffer.allocUnsafe(expected.size);
  let filled = 0;
  for await (const chunk of bytes) {
    if (filled + chunk.length > whole.length) return undefined;
    whole.set(chunk, filled);
    filled += chunk.length;
  }
  return filled === whole.length && contentDigest(whole) === expected.digest ? [whole] : undefined;
}

async function hasDigest(expected: Expected, bytes: AsyncIterable<Uint8Array>): Promise<boolean> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > expected.size) return false;
    hash.update(chunk);
  }
  return size === expected.size && digestOfHash(hash) === expected.digest;
}
