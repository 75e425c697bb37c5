import { LayoutError } from "../layer-layout.ts";

export const TAR_BLOCK_BYTES = 512;
const ZERO_BLOCK = Buffer.alloc(TAR_BLOCK_BYTES);

/** Bytes of a header. */
export const SIZE_FIELD = { start: 124, end: 136 };
export const CHECKSUM_FIELD = { start: 148, end: 156 };
const TYPE_AT = 156;
/** Set in the first byte of a number that is binary instead of octal. */
const BINARY = 0x80;

/** A header with as much of its meaning as is needed to find the next one. */
export interface TarHeader {
  /** `pax` is an extended header of the next entry, `metadata` one of other kinds, `other` an entry without content. */
  readonly kind: "file" | "pax" | "metadata" | "other";
  /** Bytes that follow, without the padding. */
  readonly size: number;
}

/**
 * Parses a header. Returns `undefined` for a block of zeros.
 *
 * @throws {LayoutError} if it is none, or belongs to a sparse file of GNU tar
 */
export function parseTarHeader(block: Buffer): TarHeader | undefined {
  if (block.equals(ZERO_BLOCK)) return undefined;
  const sum = block.reduce((total, byte) => total + byte, 0);
  const checksum = block.subarray(CHECKSUM_FIELD.start, CHECKSUM_FIELD.end);
  const expected = sum - checksum.reduce((total, byte) => total + byte, 0) + 0x20 * checksum.length;
  if (parseOctal(checksum) !== expected) throw new LayoutError("the layer is not a tar: a header has a wrong checksum");
  return readTarHeader(block);
}

/**
 * The same without the checksum, where what is read is checked in another way: the agent runs without a compiler, and the sum
 * of a header takes it longer than the digest of its file.
 */
export function readTarHeader(block: Buffer): TarHeader | undefined {
  if (block.equals(ZERO_BLOCK)) return undefined;
  const size = parseSize(block.subarray(SIZE_FIELD.start, SIZE_FIELD.end));
  const type = String.fromCodePoint(block[TYPE_AT] ?? 0);
  if (type === "0" || type === "\0" || type === "7") return { kind: "file", size };
  if (type === "x") return { kind: "pax", size };
  if (type === "g" || type === "L" || type === "K") return { kind: "metadata", size };
  if (type === "S") throw new LayoutError("the layer's tar has sparse files");
  // Links, directories and devices have no content, whatever their size says.
  return { kind: "other", size: "123456".includes(type) ? 0 : size };
}

/** The size of the next entry that an extended header gives, if it does. */
export function paxSize(records: Buffer): number | undefined {
  let found: number | undefined;
  for (let at = 0; at < records.length;) {
    const space = records.indexOf(0x20, at);
    const length = Number(records.toString("latin1", at, space === -1 ? at : space));
    if (!Number.isSafeInteger(length) || length < 1) break;
    const record = records.toString("latin1", space + 1, at + length - 1);
    if (/^size=\d{1,15}$/u.test(record)) found = Number(record.slice("size=".length));
    at += length;
  }
  return found;
}

function parseSize(field: Buffer): number {
  if (((field[0] ?? 0) & BINARY) === 0) return parseOctal(field) ?? 0;
  const size = (field[0] ?? 0) === BINARY ? field.readUIntBE(field.length - 6, 6) : Infinity;
  if (!Number.isSafeInteger(size)) throw new LayoutError("the layer's tar has a size that is not one");
  return size;
}

function parseOctal(field: Buffer): number | undefined {
  const text = field.toString("latin1").replaceAll("\0", " ").trim();
  return /^[0-7]+$/u.test(text) ? Number.parseInt(text, 8) : undefined;
}

/** Bytes from the end of a content to the next header. */
export function paddingOf(size: number): number {
  return (TAR_BLOCK_BYTES - (size % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;
}
