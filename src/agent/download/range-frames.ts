import { crc32 } from "node:zlib";

/*
 * A range part is a file of frames, appended in the order in which they arrived, wherever in the blob they belong. A frame
 * has a header of 16 bytes and up to 64 KiB of the blob. The checksum of both shows after a power cut how much of the file
 * is valid.
 */

/** Maximum number of bytes of the blob in one frame. */
export const MAX_FRAME_DATA_BYTES = 64 * 1024;
export const HEADER_BYTES = 16;

const KEPT = 0;
const DROPPED = 1;
/** Of the header: all but the checksum itself. */
const CHECKED_BYTES = 12;

export interface RangeFrame {
  /** Where the bytes are in the blob. */
  readonly offset: number;
  readonly length: number;
  /** Bytes of this range that came before are wrong; the frame has none itself. */
  readonly isDrop: boolean;
}

/** Returns a frame's header. @param data of the frame; none for a drop */
export function encodeHeader({ offset, length, isDrop }: RangeFrame, data: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUIntLE(offset, 0, 6);
  header.writeUIntLE(length, 6, 5);
  header.writeUInt8(isDrop ? DROPPED : KEPT, 11);
  header.writeUInt32LE(crc32(data, crc32(header.subarray(0, CHECKED_BYTES))), CHECKED_BYTES);
  return header;
}

/** Returns the frame of a header, not checked; `undefined` if there is none. */
export function decodeHeader(header: Buffer): RangeFrame | undefined {
  if (header.length < HEADER_BYTES) return undefined;
  const length = header.readUIntLE(6, 5);
  const isDrop = header.readUInt8(11) === DROPPED;
  if (length === 0 || (!isDrop && length > MAX_FRAME_DATA_BYTES)) return undefined;
  return { offset: header.readUIntLE(0, 6), length, isDrop };
}

/** Whether header and data have the header's checksum. */
export function isFrameIntact(header: Buffer, data: Uint8Array): boolean {
  return crc32(data, crc32(header.subarray(0, CHECKED_BYTES))) === header.readUInt32LE(CHECKED_BYTES);
}
