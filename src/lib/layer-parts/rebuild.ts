import { createHash } from "node:crypto";
import { heldContent } from "./held-content.ts";
import { type Content, type ContentPart, type LayerLayout, LayoutError, type PlacedBytes } from "./layer-layout.ts";
import { MAX_AT_ONCE_BYTES, unpack, zeros } from "./unpack.ts";
import { verifiedBytes } from "./verified-bytes.ts";

/** Where the bytes of a layer come from. What it returns is not trusted: every part is checked. */
export interface PartSource {
  /**
   * Reads a content, or a single part of one, that the device should have. Called again for the same bytes when they are
   * large. Returns `undefined` if the device does not have them. An error while reading counts as a wrong content.
   */
  held(part: Pick<ContentPart, "digest" | "size">): AsyncIterable<Uint8Array> | undefined;
  /**
   * Reads what is at a place in a blob, as it is there. Fetches it if that was not planned, because what the device had
   * turned out to be wrong. May be called again for the same place.
   */
  fetched(place: PlacedBytes): AsyncIterable<Uint8Array>;
}

/**
 * Puts the exact tar of a layer together. Memory: a few megabytes, whatever the layer's size. The last bytes come only
 * after the digest of the whole was checked.
 *
 * @throws {LayoutError} if parts of the blob, or the result, are not what the layout and `diffId` say. Errors of
 *   `fetched` are passed on.
 */
export async function* rebuildLayer(layout: LayerLayout, source: PartSource): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let size = 0;
  let last: Uint8Array | undefined;
  for await (const bytes of tarOf(layout, source)) {
    if (bytes.length === 0) continue;
    size += bytes.length;
    if (size > layout.size) throw new LayoutError(`the layer has more than its ${layout.size} bytes`);
    hash.update(bytes);
    if (last !== undefined) yield last;
    last = bytes;
  }
  if (size !== layout.size) throw new LayoutError(`the layer has ${size} bytes and should have ${layout.size}`);
  const diffId = `sha256:${hash.digest("hex")}`;
  if (diffId !== layout.diffId) throw new LayoutError(`the layer has the digest ${diffId} instead of ${layout.diffId}`);
  if (last !== undefined) yield last;
}

async function* tarOf(layout: LayerLayout, source: PartSource): AsyncGenerator<Uint8Array> {
  for await (const segment of layout.segments(source.fetched(layout.headers))) {
    if (segment.kind === "literal") yield segment.bytes;
    else yield* contentOf(segment, source);
  }
}

async function* contentOf(content: Content, source: PartSource): AsyncGenerator<Uint8Array> {
  if (content.parts.length === 1) return yield* partOf(content.parts[0] as ContentPart, source);
  for await (const piece of heldContent(content, (wanted) => source.held(wanted))) {
    if (piece.bytes !== undefined) yield piece.bytes;
    else yield* partOf(piece.part, source);
  }
}

async function* partOf(part: ContentPart, source: PartSource): AsyncGenerator<Uint8Array> {
  if (part.compression === "zeros") return yield* zeros(part.size);
  const held = await verifiedBytes(part, () => source.held(part));
  if (held !== undefined) return yield* held;
  // A part that does not come at once is read twice: first to check it.
  if (Math.max(part.size, part.length) > MAX_AT_ONCE_BYTES) await drain(unpack(part, source.fetched(part)));
  yield* unpack(part, source.fetched(part));
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of chunks);
}
