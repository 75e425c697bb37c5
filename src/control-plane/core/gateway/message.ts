/*
 * Messages of channels between instances. Integers are big endian:
 * `u8 version | u8 kind | u8 flags | 16 bytes channel | u32 number | u32 taken | u8 length | sender | bytes`
 */

const VERSION = 1;
const KINDS = ["part", "receipt", "alive", "reset"] as const;
const IS_BODY_END = 1;
const IS_CHANNEL_END = 2;
const HEADER_BYTES = 28;
const CHANNEL_BYTES = 16;
const INSTANCE_ID = /^[\w-]{1,64}$/;

/** What one end of a channel sends to the other. */
export interface ChannelMessage {
  /**
   * `part`: a part of a body. `receipt`: only `taken` matters. `alive`: the channel is open. `reset`: it is not, or the sender
   * does not know it.
   */
  readonly kind: (typeof KINDS)[number];
  /** The number of the part; for other kinds how many parts the sender has sent. */
  readonly number: number;
  /** How many parts of the other end were taken by their reader. */
  readonly taken: number;
  /** Whether the part is the last one of its body. */
  readonly isBodyEnd: boolean;
  /** Whether the body is the last one of its sender, and the channel ends with it. */
  readonly isChannelEnd: boolean;
  readonly bytes: Uint8Array;
}

/** A message with its address. */
export interface AddressedMessage extends ChannelMessage {
  /** 32 hexadecimal digits. */
  readonly channel: string;
  /** The instance that sent it. */
  readonly sender: string;
}

/** Whether a text can be the sender of messages. */
export function isInstanceId(text: string): boolean {
  return INSTANCE_ID.test(text);
}

export function encodeMessage(message: AddressedMessage): Uint8Array {
  const { kind, number, taken, isBodyEnd, isChannelEnd, bytes, channel, sender } = message;
  const encoded = new Uint8Array(HEADER_BYTES + sender.length + bytes.length);
  const view = new DataView(encoded.buffer);
  encoded[0] = VERSION;
  encoded[1] = KINDS.indexOf(kind);
  encoded[2] = (isBodyEnd ? IS_BODY_END : 0) | (isChannelEnd ? IS_CHANNEL_END : 0);
  for (let at = 0; at < CHANNEL_BYTES; at++) encoded[3 + at] = Number.parseInt(channel.slice(2 * at, 2 * at + 2), 16);
  view.setUint32(19, number);
  view.setUint32(23, taken);
  encoded[27] = sender.length;
  for (let at = 0; at < sender.length; at++) encoded[HEADER_BYTES + at] = sender.charCodeAt(at);
  encoded.set(bytes, HEADER_BYTES + sender.length);
  return encoded;
}

/** Decodes a message; `undefined` if it is not valid. Never throws. `bytes` shares the memory of the message. */
export function decodeMessage(encoded: Uint8Array): AddressedMessage | undefined {
  const senderEnd = HEADER_BYTES + (encoded[27] ?? 0);
  const kind = KINDS[encoded[1] ?? KINDS.length];
  if (encoded[0] !== VERSION || kind === undefined || encoded.length < senderEnd) return undefined;
  const sender = String.fromCharCode(...encoded.subarray(HEADER_BYTES, senderEnd));
  if (!isInstanceId(sender)) return undefined;
  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  const flags = encoded[2] ?? 0;
  return {
    kind,
    channel: [...encoded.subarray(3, 3 + CHANNEL_BYTES)].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
    sender,
    number: view.getUint32(19),
    taken: view.getUint32(23),
    isBodyEnd: (flags & IS_BODY_END) !== 0,
    isChannelEnd: (flags & IS_CHANNEL_END) !== 0,
    bytes: encoded.subarray(senderEnd),
  };
}
