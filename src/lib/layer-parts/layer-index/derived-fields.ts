import { CHECKSUM_FIELD, SIZE_FIELD, TAR_BLOCK_BYTES } from "./tar-header.ts";

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

/** Fills fields of zeros, which no header of a file has: its size is not 0, and a checksum has digits. */
export function fillDerived(header: Uint8Array, size: number): Buffer {
  const filled = Buffer.from(header);
  if (isZero(filled, SIZE_FIELD)) filled.write(octal(size, 11), SIZE_FIELD.start, "latin1");
  if (!isZero(filled, CHECKSUM_FIELD)) return filled;
  let sum = 0x20 * (CHECKSUM_FIELD.end - CHECKSUM_FIELD.start);
  for (let at = 0; at < TAR_BLOCK_BYTES; at++) sum += filled[at] ?? 0;
  // Six digits, NUL and a space, as all common writers have it.
  filled.write(`${octal(sum, 6)}\0 `, CHECKSUM_FIELD.start, "latin1");
  return filled;
}

function isZero(header: Buffer, field: typeof SIZE_FIELD): boolean {
  for (let at = field.start; at < field.end; at++) if (header[at] !== 0) return false;
  return true;
}

/** Larger numbers are not octal: cut off, they do not restore the header, and it stays as it is. */
function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0").slice(-digits);
}
