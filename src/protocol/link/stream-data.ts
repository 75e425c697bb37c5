/*
 * Binary WebSocket messages of streams, in both directions. JSON would need base64, a third more on a metered link.
 *
 * - Data of a stream: `u8 1 | u8 channel | u32 stream id | bytes`; with 3 in place of 1, its arrival is to be confirmed.
 * - Arrival of data on this connection: `u8 2 | u32 sum of all data bytes received on it`, modulo 2^32.
 *
 * Integers are big endian.
 */

/** Maximum number of data bytes in one message. */
export const MAX_STREAM_CHUNK_BYTES = 16 * 1024;

/** What the bytes of a data message are. */
export const STREAM_CHANNELS = {
  /** To the app: its input. From the app: what a connection or a file contains. */
  data: 0,
  stdout: 1,
  stderr: 2,
  /** No more data follows in this direction. The message has no bytes. */
  end: 3,
} as const;
export type StreamChannelId = (typeof STREAM_CHANNELS)[keyof typeof STREAM_CHANNELS];

const DATA = 1;
const ARRIVED = 2;
const DATA_TO_CONFIRM = 3;
const HEADER_BYTES = 6;
const ARRIVED_BYTES = 5;
const UINT32 = 2 ** 32;

export type StreamMessage =
  | {
      readonly kind: "data";
      readonly streamId: number;
      readonly channel: StreamChannelId;
      /** Whether the sender waits for a confirmation of what has arrived so far. */
      readonly mustConfirm: boolean;
      /** Shares the memory of the message. */
      readonly bytes: Uint8Array;
    }
  | { readonly kind: "arrived"; readonly total: number };

/** Encodes data of a stream. @param bytes at most `MAX_STREAM_CHUNK_BYTES`; empty for the channel `end` only */
export function encodeStreamData(
  streamId: number,
  channel: StreamChannelId,
  bytes: Uint8Array,
  mustConfirm: boolean = false,
): Uint8Array {
  const message = new Uint8Array(HEADER_BYTES + bytes.length);
  message[0] = mustConfirm ? DATA_TO_CONFIRM : DATA;
  message[1] = channel;
  new DataView(message.buffer).setUint32(2, streamId);
  message.set(bytes, HEADER_BYTES);
  return message;
}

/** Encodes the sum of all data bytes received on this connection. */
export function encodeArrival(total: number): Uint8Array {
  const message = new Uint8Array(ARRIVED_BYTES);
  message[0] = ARRIVED;
  new DataView(message.buffer).setUint32(1, total % UINT32);
  return message;
}

/** Decodes a binary message; `undefined` if it is not valid. Never throws. */
export function decodeStreamMessage(message: Uint8Array): StreamMessage | undefined {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  switch (message[0]) {
    case DATA:
    case DATA_TO_CONFIRM: {
      const channel = message[1];
      if (message.length < HEADER_BYTES || !isChannel(channel)) return undefined;
      const bytes = message.subarray(HEADER_BYTES);
      const isValid = channel === STREAM_CHANNELS.end ? bytes.length === 0 : bytes.length > 0;
      if (!isValid || bytes.length > MAX_STREAM_CHUNK_BYTES) return undefined;
      const mustConfirm = message[0] === DATA_TO_CONFIRM;
      return { kind: "data", streamId: view.getUint32(2), channel, mustConfirm, bytes };
    }
    case ARRIVED:
      return message.length === ARRIVED_BYTES ? { kind: "arrived", total: view.getUint32(1) } : undefined;
    case undefined:
    default:
      return undefined;
  }
}

function isChannel(value: number | undefined): value is StreamChannelId {
  return value !== undefined && value <= STREAM_CHANNELS.end;
}
