import { createHash } from "node:crypto";
import { digestOfHash } from "../content-digest.ts";
import type { ContentTable } from "../content-table.ts";
import { type LayerLayout, LayoutError, type PlacedBytes, type Segment } from "../layer-layout.ts";
import { LAYOUT_LIMITS, type LayoutLimits, MAX_TAR_BYTES } from "../limits.ts";
import { decompress, unpack } from "../unpack.ts";
import type { PackedPlace, ZstdChunkedPlace } from "./place.ts";
import { readTarSplit, type TarSplitEntry } from "./tar-split.ts";
import { readToc } from "./toc.ts";

/**
 * Reads how a zstd:chunked layer is put together. The headers of the layout are its tar-split data, which `tail` contains.
 *
 * @param tail the bytes of `place.tail`
 * @param diffId `sha256:…` of the layer's tar, from the image's configuration
 * @throws {LayoutError}
 */
export async function readZstdChunked(
  place: ZstdChunkedPlace,
  tail: Uint8Array,
  diffId: string,
  limits: LayoutLimits = LAYOUT_LIMITS,
): Promise<LayerLayout> {
  const packed = ({ offset, length }: PackedPlace): Uint8Array =>
    tail.subarray(offset - place.tail.offset, offset - place.tail.offset + length);
  if (tail.length !== place.tail.length) throw new LayoutError("the tables of the layer are cut off");
  if (place.tocDigest !== undefined) checkDigest(packed(place.toc), place.tocDigest, "table of contents");
  const toc = await readToc(unpackTable(packed(place.toc), place.toc.size), place.toc.offset, limits);
  checkDigest(packed(place.tarSplit), toc.tarSplitDigest, "tar-split data");
  const { size, headers } = await measure(toc.contents, packed(place.tarSplit), place.tarSplit);
  return {
    diffId,
    size,
    headers,
    described: { entries: toc.entries, unpackedBytes: place.toc.size + place.tarSplit.size },
    contents: () => toc.contents.contents(),
    segments: (bytes) => segmentsOf(toc.contents, unpack(headers, bytes)),
  };
}

/** Reads the tar-split data once, for the size of the tar, and to know that it fits the table of contents. */
async function measure(
  contents: ContentTable,
  packed: Uint8Array,
  place: PackedPlace,
): Promise<Pick<LayerLayout, "size" | "headers">> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const batch of segmentsOf(contents, hashed(unpackTable(packed, place.size), hash))) {
    for (const segment of batch) size += segment.kind === "literal" ? segment.bytes.length : segment.size;
    if (size > MAX_TAR_BYTES) throw new LayoutError(`the layer has more than ${MAX_TAR_BYTES} bytes`);
  }
  const { offset, length } = place;
  const headers: PlacedBytes = {
    digest: digestOfHash(hash),
    size: place.size,
    blob: "layer",
    offset,
    length,
    compression: compressionOf(packed),
  };
  return { size, headers };
}

async function* segmentsOf(
  contents: ContentTable,
  unpacked: AsyncIterable<Uint8Array>,
): AsyncGenerator<Iterable<Segment>> {
  const position = { index: 0 };
  for await (const entries of readTarSplit(unpacked)) yield batchOf(entries, contents, position);
  if (position.index !== contents.length)
    throw new LayoutError("the table of contents has files that the tar-split data lacks");
}

/** @param position of the next content; moved on */
function* batchOf(
  entries: Iterable<TarSplitEntry>,
  contents: ContentTable,
  position: { index: number },
): Generator<Segment> {
  for (const entry of entries) {
    if (entry.kind === "segment") yield { kind: "literal", bytes: entry.bytes };
    else if (entry.size > 0) {
      const content = position.index < contents.length ? contents.at(position.index++) : undefined;
      if (content?.size !== entry.size) throw new LayoutError("the table of contents and the tar-split data differ");
      yield { kind: "content", digest: content.digest, size: content.size, parts: content.parts };
    }
  }
}

/** Unpacks to exactly so many bytes. */
async function* unpackTable(packed: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  let unpacked = 0;
  for await (const chunk of decompress(compressionOf(packed), only(packed))) {
    unpacked += chunk.length;
    if (unpacked > size)
      throw new LayoutError(`a table of the layer unpacks to more than the ${size} bytes it should have`);
    yield chunk;
  }
  if (unpacked < size)
    throw new LayoutError(`a table of the layer unpacks to ${unpacked} bytes and should have ${size}`);
}

/** Tables are packed with zstd; tar-split data by other writers with gzip. */
function compressionOf(packed: Uint8Array): "zstd" | "gzip" {
  return packed[0] === 0x1f && packed[1] === 0x8b ? "gzip" : "zstd";
}

function checkDigest(packed: Uint8Array, digest: string, what: string): void {
  const actual = createHash("sha256").update(packed).digest("hex");
  if (`sha256:${actual}` !== digest) throw new LayoutError(`the ${what} of the layer does not have its digest`);
}

async function* hashed(
  chunks: AsyncIterable<Uint8Array>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- where a stream is expected
async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
