import { CHECKSUM_FIELD, SIZE_FIELD, TAR_BLOCK_BYTES } from "./tar-header.ts";

const ZEROS = Buffer.alloc(SIZE_FIELD.end - SIZE_FIELD.start);

/**
 * Fields of a file's header that follow from others: its size is that of the content, and its checksum that of the header.
 * They hardly compress, and without them the headers of a layer take half as many bytes.
 */

/** Returns the header with zeros in the fields that `fillDerived` restores exactly; others stay as they are. */
export function blankDerived(header: Uint8Array, size: number): Uint8Array {
  const blank = Buffer.from(header);
  blank.fill(0, CHECKSUM_FIELD.start, CHECKSUM_FIELD.end);
  blank.fill(0, SIZE_FIELD.start, SIZE_FIELD.end);
  if (fillDerived(blank, size).equals(header)) return blank;
  const withSize = Buffer.from(header);
  withSize.fill(0, CHECKSUM_FIELD.start, CHECKSUM_FIELD.end);
  return fillDerived(withSize, size).equals(header) ? withSize : header;
}

/**
 * Fills fields of zeros, which no header of a file has: its size is not 0, and a checksum has digits.
 *
 * @param filled memory for the result, of its own allocation: the sum needs words that are aligned
 */
export function fillDerived(header: Uint8Array, size: number, filled: Buffer = Buffer.alloc(TAR_BLOCK_BYTES)): Buffer {
  filled.set(header);
  if (isZero(filled, SIZE_FIELD)) filled.write(octal(size, 11), SIZE_FIELD.start, "latin1");
  if (!isZero(filled, CHECKSUM_FIELD)) return filled;
  const sum = sumOf(filled) + 0x20 * (CHECKSUM_FIELD.end - CHECKSUM_FIELD.start);
  // Six digits, NUL and a space, as all common writers have it.
  filled.write(`${octal(sum, 6)}\0 `, CHECKSUM_FIELD.start, "latin1");
  return filled;
}

/** The sum of all bytes, four at a time: the agent runs without a compiler, and has a header for each file. */
function sumOf(header: Buffer): number {
  const words = new Int32Array(header.buffer, header.byteOffset, TAR_BLOCK_BYTES / 4);
  let sum = 0;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as number;
    if (word === 0) continue;
    const pairs = (word & 0x00ff00ff) + ((word >>> 8) & 0x00ff00ff);
    sum += (pairs & 0xffff) + (pairs >>> 16);
  }
  return sum;
}

function isZero(header: Buffer, { start, end }: typeof SIZE_FIELD): boolean {
  return header.compare(ZEROS, 0, end - start, start, end) === 0;
}

/** Larger numbers are not octal: cut off, they do not restore the header, and it stays as it is. */
function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0").slice(-digits);
}
