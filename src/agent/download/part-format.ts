import { crc32 } from "node:zlib";

/*
 * A part is kept as frames of 64 KiB, each followed by its CRC-32, so that after a power cut it shows by itself how far
 * it can be trusted: what a file system has not written yet may come back as zeros, or as what was there before. A
 * checksum of its own file would have to reach the disk in step with the bytes, at twice the writes.
 */

/** Bytes of the blob in one frame. */
export const FRAME_DATA_BYTES = 64 * 1024;
const CHECKSUM_BYTES = 4;
/** Bytes a full frame takes in the file. */
export const FRAME_BYTES = FRAME_DATA_BYTES + CHECKSUM_BYTES;

/** Where in the file a byte of the blob is. */
export function filePosition(position: number): number {
  return position + Math.floor(position / FRAME_DATA_BYTES) * CHECKSUM_BYTES;
}

/** The first byte of the frame that a byte of the blob is in. */
export function frameStart(position: number): number {
  return position - (position % FRAME_DATA_BYTES);
}

/** The bytes of the blob from `start` up to and without `end`, out of what stands in the file for them. */
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

/** Whether a full frame is as it was written. */
export function isFrameValid(frame: Buffer): boolean {
  return (
    frame.length === FRAME_BYTES && crc32(frame.subarray(0, FRAME_DATA_BYTES)) === frame.readUInt32LE(FRAME_DATA_BYTES)
  );
}

/** Cuts a stream of bytes into frames: puts the checksum in wherever one is full. */
export class Framer {
  #filled: number;
  #checksum = 0;

  /** @param position byte of the blob the stream begins with, at the beginning of a frame */
  constructor(position: number) {
    this.#filled = position % FRAME_DATA_BYTES;
  }

  /** The bytes as they stand in the file. They are used, not copied. */
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
