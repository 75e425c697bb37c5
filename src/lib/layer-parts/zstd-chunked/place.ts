import { LayoutError } from "../layer-layout.ts";
import { LAYOUT_LIMITS, type LayoutLimits } from "../limits.ts";
import type { Span } from "../ranges.ts";

const PREFIX = "io.github.containers.zstd-chunked.";
/** Of writers before 2022, such as Podman 4.3. They write no tar-split data. */
const OLD_PREFIX = "io.containers.zstd-chunked.";

/** Type of the table of contents, the only one there is. */
const CRFS = "1";
const FOOTER_BYTES = 64;
const FRAME_HEADER_BYTES = 8;
const FOOTER_MAGIC = "GNUlInUx";
/** A skippable frame of 64 bytes. */
const FOOTER_FRAME = Buffer.from("502a4d1840000000", "hex");

/** Bytes at the end of a blob that hold its footer. */
export const ZSTD_CHUNKED_FOOTER_BYTES = FRAME_HEADER_BYTES + FOOTER_BYTES;

/** Where a zstd:chunked blob has its table of contents and its tar-split data, both in skippable frames. */
export interface ZstdChunkedPlace {
  readonly toc: PackedPlace;
  readonly tarSplit: PackedPlace;
  /** `sha256:…` of the table of contents, packed. The footer has none. */
  readonly tocDigest: string | undefined;
  /** Both together: what has to be read. A part of the blob, so that nothing is lost if the whole is fetched after it. */
  readonly tail: Span;
}

export interface PackedPlace extends Span {
  /** Bytes, unpacked. */
  readonly size: number;
}

/**
 * Finds them by the annotations of the layer in the image's manifest. Returns `undefined` if the layer is not zstd:chunked.
 *
 * @throws {LayoutError} if it is, and cannot be used: places outside of the blob, too large, or without tar-split data,
 *   without which the exact tar is not known
 */
export function findZstdChunked(
  annotations: Readonly<Record<string, string>>,
  blobSize: number,
  limits: LayoutLimits = LAYOUT_LIMITS,
): ZstdChunkedPlace | undefined {
  const isOld = annotations[`${PREFIX}manifest-position`] === undefined;
  const prefix = isOld ? OLD_PREFIX : PREFIX;
  const position = annotations[`${prefix}manifest-position`];
  if (position === undefined) return undefined;
  const [type, toc] = [position.split(":")[3], parsePlace(position, 4)];
  if (type !== CRFS) throw new LayoutError("the table of contents has an unknown type");
  const split = annotations[`${prefix}tarsplit-position`];
  if (split === undefined) throw withoutTarSplit();
  const tocDigest = annotations[`${prefix}manifest-checksum`];
  return checkPlace({ toc, tarSplit: parsePlace(split, 3), tocDigest }, blobSize, limits);
}

/**
 * Finds them by the blob's last bytes, for images whose annotations were lost. Returns `undefined` if the blob is not
 * zstd:chunked.
 *
 * @param end the last `ZSTD_CHUNKED_FOOTER_BYTES` of the blob
 * @throws {LayoutError} as `findZstdChunked`
 */
export function readZstdChunkedFooter(
  end: Uint8Array,
  blobSize: number,
  limits: LayoutLimits = LAYOUT_LIMITS,
): ZstdChunkedPlace | undefined {
  const footer = Buffer.from(end);
  if (footer.length !== ZSTD_CHUNKED_FOOTER_BYTES || !footer.subarray(0, FRAME_HEADER_BYTES).equals(FOOTER_FRAME)) {
    return undefined;
  }
  if (footer.toString("latin1", footer.length - FOOTER_MAGIC.length) !== FOOTER_MAGIC) return undefined;
  const field = (index: number): number => Number(footer.readBigUInt64LE(FRAME_HEADER_BYTES + index * 8));
  if (String(field(3)) !== CRFS) throw new LayoutError("the table of contents has an unknown type");
  if (field(4) === 0) throw withoutTarSplit();
  const toc = { offset: field(0), length: field(1), size: field(2) };
  const tarSplit = { offset: field(4), length: field(5), size: field(6) };
  return checkPlace({ toc, tarSplit, tocDigest: undefined }, blobSize, limits);
}

function parsePlace(text: string, fields: number): PackedPlace {
  const numbers = text.split(":");
  if (numbers.length !== fields || !numbers.every((number) => /^\d{1,15}$/u.test(number))) {
    throw new LayoutError("a position in the layer's annotations is not made of numbers");
  }
  const [offset = 0, length = 0, size = 0] = numbers.map(Number);
  return { offset, length, size };
}

function checkPlace(place: Omit<ZstdChunkedPlace, "tail">, blobSize: number, limits: LayoutLimits): ZstdChunkedPlace {
  const { toc, tarSplit } = place;
  const tail = { offset: toc.offset, length: tarSplit.offset + tarSplit.length - toc.offset };
  if (tarSplit.offset < toc.offset + toc.length) throw new LayoutError("the tables of the layer overlap");
  if (tail.offset + tail.length > blobSize) throw new LayoutError("the tables lie outside of the layer's blob");
  if (tail.length > limits.maxPackedBytes) {
    throw new LayoutError(`the tables of the layer have ${tail.length} bytes, more than ${limits.maxPackedBytes}`);
  }
  for (const { length, size } of [toc, tarSplit]) {
    if (length === 0) throw new LayoutError("a table of the layer is empty");
    if (size > limits.maxUnpackedBytes) {
      throw new LayoutError(`a table of the layer unpacks to ${size} bytes, more than ${limits.maxUnpackedBytes}`);
    }
  }
  return { ...place, tail };
}

function withoutTarSplit(): LayoutError {
  return new LayoutError(
    "the layer was written without tar-split data, so that its exact tar cannot be rebuilt from parts",
  );
}
