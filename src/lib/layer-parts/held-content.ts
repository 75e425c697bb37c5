import { ByteReader } from "./byte-reader.ts";
import { contentDigest } from "./content-digest.ts";
import type { Content, ContentPart } from "./layer-layout.ts";
import type { PartSource } from "./part-source.ts";
import { MAX_BUFFERED_BYTES, verifiedBytes } from "./verified-bytes.ts";

/** A part of a content, or several together, with its bytes if what the device has is right. */
export type HeldPiece = { readonly bytes: Uint8Array } | { readonly bytes?: undefined; readonly part: ContentPart };

/**
 * Reads a content of several parts from the device, checking each part. A part that is wrong, or that cannot be read, comes
 * without bytes. Contents with parts too large for the memory are checked as a whole before.
 */
export async function* heldContent(content: Content, held: PartSource["held"]): AsyncGenerator<HeldPiece> {
  if (content.parts.some((part) => part.compression !== "zeros" && part.size > MAX_BUFFERED_BYTES)) {
    const bytes = await verifiedBytes(content, () => held(content, false));
    if (bytes === undefined) yield* missing(content.parts);
    else for await (const chunk of bytes) yield { bytes: chunk };
    return;
  }
  const bytes = held(content, true);
  if (bytes === undefined) return yield* missing(content.parts);
  await using reader = new ByteReader(bytes);
  let isBroken = false;
  for (const part of content.parts) {
    // A content that cannot be read is fetched.
    const found: Uint8Array | null | undefined = isBroken ? undefined : await readPart(reader, part).catch(() => null);
    isBroken ||= found === null;
    yield found instanceof Uint8Array ? { bytes: found } : { part };
  }
}

function* missing(parts: readonly ContentPart[]): Generator<HeldPiece> {
  for (const part of parts) yield { part };
}

/** Resolves to `undefined` if the part is wrong or not needed, and to `null` if the stream has ended. */
async function readPart(reader: ByteReader, part: ContentPart): Promise<Uint8Array | undefined | null> {
  if (part.compression === "zeros") return (await reader.skip(part.size)) ? undefined : null;
  const bytes = await reader.take(part.size);
  if (bytes === undefined) return null;
  return contentDigest(bytes) === part.digest ? bytes : undefined;
}
