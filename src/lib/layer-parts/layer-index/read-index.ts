import { zstdDecompressSync } from "node:zlib";
import { CONTENT_DIGEST_BYTES } from "../content-digest.ts";
import { type LayerLayout, LayoutError, type PlacedBytes } from "../layer-layout.ts";
import { LAYOUT_LIMITS, type LayoutLimits, MAX_TAR_BYTES } from "../limits.ts";
import { DIFF_ID_BYTES, INDEX_MAGIC } from "./format.ts";
import { readContents } from "./read-contents.ts";
import { FileTable } from "./file-table.ts";
import { TableReader } from "./varint.ts";

/** What an index has to be of. */
export interface ExpectedLayer {
  /** `sha256:…` of the layer's tar, from the image's configuration. */
  readonly diffId: string;
  /** Bytes of the pack, from the manifest of the index. */
  readonly packSize: number;
}

/**
 * Reads an index. Sizes and counts are checked against each other, against the limits, and against the bytes that there are
 * before anything is built from them.
 *
 * @throws {LayoutError} also if the index is of another layer
 */
export function readLayerIndex(
  index: Uint8Array,
  layer: ExpectedLayer,
  limits: LayoutLimits = LAYOUT_LIMITS,
): LayerLayout {
  const unpacked = unpackTable(index, limits);
  const table = new TableReader(unpacked);
  const diffId = `sha256:${table.take(DIFF_ID_BYTES).toString("hex")}`;
  if (diffId !== layer.diffId) throw new LayoutError("the index is of another layer");
  const tarSize = table.varint("the size of the layer", MAX_TAR_BYTES);
  const headers = readHeaders(table, layer.packSize, limits);
  const files = new FileTable(headers.size);
  const { contents, entries, isAllRead } = readContents(table, files, headers.offset, limits);
  if (!isAllRead) throw new LayoutError("the parts in the index do not fill the pack");
  if (table.rest > 0) throw new LayoutError("the index has bytes at its end that mean nothing");
  if (files.tarSize(contents) !== tarSize) throw new LayoutError("the files in the index do not fill the layer");
  return {
    diffId,
    size: tarSize,
    headers,
    described: { entries, unpackedBytes: unpacked.length + headers.size },
    contents: () => files.contents(contents),
    segments: (bytes) => files.segments(contents, headers, bytes),
  };
}

function unpackTable(index: Uint8Array, limits: LayoutLimits): Uint8Array {
  if (index.length > limits.maxPackedBytes)
    throw new LayoutError(`the index has more than ${limits.maxPackedBytes} bytes`);
  const magic = index.subarray(0, INDEX_MAGIC.length);
  if (!INDEX_MAGIC.equals(magic)) throw new LayoutError("not an index, or one of a later version");
  try {
    return zstdDecompressSync(index.subarray(INDEX_MAGIC.length), { maxOutputLength: limits.maxTableBytes });
  } catch (error) {
    throw new LayoutError("the table of the index cannot be unpacked, or is too large", { cause: error });
  }
}

function readHeaders(table: TableReader, packSize: number, limits: LayoutLimits): PlacedBytes {
  const size = table.varint("the size of the headers", limits.maxUnpackedBytes);
  const length = table.varint("the length of the headers", Math.min(limits.maxPackedBytes, packSize));
  const digest = table.take(CONTENT_DIGEST_BYTES).toString("hex");
  return { digest, size, blob: "pack", offset: packSize - length, length, compression: "zstd" };
}
