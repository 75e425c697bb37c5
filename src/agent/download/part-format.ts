import { crc32 } from "node:zlib";

/*
 * A part is stored as frames of 64 KiB, each followed by its CRC-32, so that after a power cut the file itself shows
 * how much of it is valid: data the file system had not written may read as zeros or as old content. Checksums in a
 * separate file would have to reach the disk together with the data, at twice the writes.
 */

/** Bytes of the blob in one frame. */
export const FRAME_DATA_BYTES = 64 * 1024;
const CHECKSUM_BYTES = 4;
/** Bytes a full frame takes in the file. */
export const FRAME_BYTES = FRAME_DATA_BYTES + CHECKSUM_BYTES;

/** Position in the file of a byte of the blob. */
export function filePosition(position: number): number {
  return position + Math.floor(position / FRAME_DATA_BYTES) * CHECKSUM_BYTES;
}

/** Position in the blob of the first byte of the frame that contains a byte. */
export function frameStart(position: number): number {
  return position - (position % FRAME_DATA_BYTES);
}

/** Returns views of the blob bytes `start` to `end` (exclusive) within `bytes`, the file content for them. */
export function withoutChecksums(bytes: Buffer, start: number, end: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = start; at < end;) {
    const next = Math.min(end, frameStart(at) + FRAME_DATA_BYTES);
    const offset = filePosition(at) - filePosition(start);
    pieces.push(bytes.subarray(offset, offset + next - at));
    at = next;
  }
  return pieces;
}

/** Whether `frame` is a full frame with a matching checksum. */
export function isFrameValid(frame: Buffer): boolean {
  return (
    frame.length === FRAME_BYTES && crc32(frame.subarray(0, FRAME_DATA_BYTES)) === frame.readUInt32LE(FRAME_DATA_BYTES)
  );
}

/** Cuts a stream of bytes into frames and inserts their checksums. */
export class Framer {
  #filled: number;
  #checksum = 0;

  /** @param position byte of the blob at which the stream begins; the start of a frame */
  constructor(position: number) {
    this.#filled = position % FRAME_DATA_BYTES;
  }

  /** Returns the bytes as stored in the file. The result refers to `bytes` without copying. */
  frame(bytes: Buffer): Buffer[] {
    const framed: Buffer[] = [];
    for (let rest = bytes; rest.length > 0;) {
      const piece = rest.subarray(0, FRAME_DATA_BYTES - this.#filled);
      rest = rest.subarray(piece.length);
      framed.push(piece);
      this.#checksum = crc32(piece, this.#checksum);
      this.#filled += piece.length;
      if (this.#filled === FRAME_DATA_BYTES) framed.push(this.#close());
    }
    return framed;
  }

  #close(): Buffer {
    const checksum = Buffer.allocUnsafe(CHECKSUM_BYTES);
    checksum.writeUInt32LE(this.#checksum);
    this.#filled = 0;
    this.#checksum = 0;
    return checksum;
  }
}
