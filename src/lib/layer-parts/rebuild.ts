import { contentDigest } from "./content-digest.ts";
import { heldContent } from "./held-content.ts";
import type { Content, ContentPart, LayerLayout } from "./layer-layout.ts";
import type { PartSource } from "./part-source.ts";
import { TarBlocks } from "./tar-blocks.ts";
import { MAX_AT_ONCE_BYTES, unpack, zeros } from "./unpack.ts";
import { MAX_BUFFERED_BYTES, verifiedBytes } from "./verified-bytes.ts";

/**
 * Puts the exact tar of a layer together. Memory: a few megabytes, whatever the layer's size. What it yields is good until the
 * next piece is asked for. The last bytes come only after the digest of the whole was checked.
 *
 * @throws {LayoutError} if parts of the blob, or the result, are not what the layout and `diffId` say. Errors of
 *   `fetched` are passed on.
 */
export async function* rebuildLayer(layout: LayerLayout, source: PartSource): AsyncGenerator<Uint8Array> {
  const blocks = new TarBlocks(layout);
  for await (const batch of layout.segments(source.fetched(layout.headers))) {
    for (const segment of batch) {
      if (segment.kind === "literal") {
        if (!blocks.add(segment.bytes)) yield* blocks.spill(segment.bytes);
        continue;
      }
      const held = heldWhole(segment, source);
      // A content that cannot be read is fetched.
      const whole = held instanceof Promise ? await held.catch(() => undefined) : held;
      if (whole && isContent(whole, segment)) {
        if (!blocks.add(whole)) yield* blocks.spill(whole);
      } else {
        for await (const bytes of contentOf(segment, source, held !== undefined)) yield* blocks.spill(bytes);
      }
    }
  }
  yield* blocks.end();
}

function heldWhole(content: Content, source: PartSource): ReturnType<NonNullable<PartSource["heldWhole"]>> {
  if (content.parts.length > 1 || content.size > MAX_BUFFERED_BYTES) return undefined;
  if (content.parts[0]?.compression === "zeros") return undefined;
  return source.heldWhole?.(content);
}

function isContent(bytes: Uint8Array, { size, digest }: Content): boolean {
  return bytes.length === size && contentDigest(bytes) === digest;
}

/** @param isHeldWrong the device's content of this digest is known to be another one */
async function* contentOf(content: Content, source: PartSource, isHeldWrong: boolean): AsyncGenerator<Uint8Array> {
  if (content.parts.length === 1) return yield* partOf(content.parts[0] as ContentPart, source, isHeldWrong);
  for await (const piece of heldContent(content, (...args) => source.held(...args))) {
    if (piece.bytes !== undefined) yield piece.bytes;
    else yield* partOf(piece.part, source, false);
  }
}

async function* partOf(part: ContentPart, source: PartSource, isHeldWrong: boolean): AsyncGenerator<Uint8Array> {
  if (part.compression === "zeros") return yield* zeros(part.size);
  const held = isHeldWrong
    ? undefined
    : await verifiedBytes(part, () => source.held(part, part.size <= MAX_BUFFERED_BYTES));
  if (held !== undefined) return yield* held;
  // A part that does not come at once is read twice: first to check it.
  if (Math.max(part.size, part.length) > MAX_AT_ONCE_BYTES) await drain(unpack(part, source.fetched(part)));
  yield* unpack(part, source.fetched(part));
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of chunks);
}
