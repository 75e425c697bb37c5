import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";

/** A key that all instances share. */
export interface BusKey {
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly secret: Uint8Array;
}

/** What the instances share besides the bus. */
export interface SharedKeys {
  /** The time that all instances have, in milliseconds. */
  readonly nowMs: number;
  /** When this instance began to know which messages have arrived. */
  readonly startedAtMs: number;
  /** The key that seals; `undefined` if this instance has none. */
  readonly current: BusKey | undefined;
  find(id: string): BusKey | undefined;
}

/*
 * A sealed message. Integers are big endian:
 * `u8 format | 8 bytes key | 16 bytes sender | u48 time | u48 counter | 16 bytes tag | ciphertext`
 * AES-256-GCM under a key of this sender alone, so that its counter is a nonce. Everything before the tag, and the subject, is
 * authenticated.
 */

const ALGORITHM = "aes-256-gcm";
const FORMAT = 1;
export const KEY_ID_BYTES = 8;
export const SENDER_BYTES = 16;
const SENDER_AT = 1 + KEY_ID_BYTES;
const TIME_AT = SENDER_AT + SENDER_BYTES;
const COUNTER_AT = TIME_AT + 6;
const TAG_AT = COUNTER_AT + 6;
const TAG_BYTES = 16;
/** By how much a sealed message is longer. */
export const SEAL_BYTES = TAG_AT + TAG_BYTES;
const NONCE_BYTES = 12;

/** Says who sent a message, when, and under which key. Nothing of it is true until `open` has succeeded. */
export interface SealHeader {
  /** In hexadecimal digits. */
  readonly keyId: string;
  readonly sender: string;
  /** Milliseconds of the database's time. */
  readonly timeMs: number;
  /** Increases with each message of the sender. */
  readonly counter: number;
}

/** Returns the key of a sender, from a key that all instances share. */
export function deriveSenderKey(secret: Uint8Array, sender: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, Buffer.from(sender, "hex"), "bus of edge-control", 32));
}

/** @param key of the sender; no counter may be used twice with it */
export function seal(key: Uint8Array, header: SealHeader, subject: string, message: Uint8Array): Uint8Array {
  const sealed = Buffer.allocUnsafe(SEAL_BYTES + message.length);
  sealed[0] = FORMAT;
  sealed.write(header.keyId, 1, "hex");
  sealed.write(header.sender, SENDER_AT, "hex");
  sealed.writeUIntBE(header.timeMs, TIME_AT, 6);
  sealed.writeUIntBE(header.counter, COUNTER_AT, 6);
  const cipher = createCipheriv(ALGORITHM, key, nonceOf(sealed), { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(sealed, subject));
  sealed.set(cipher.update(message), SEAL_BYTES);
  cipher.final();
  sealed.set(cipher.getAuthTag(), TAG_AT);
  return sealed;
}

/** Returns what a message says about itself; `undefined` if it is not a sealed message. */
export function readHeader(bytes: Uint8Array): SealHeader | undefined {
  if (bytes.length < SEAL_BYTES || bytes[0] !== FORMAT) return undefined;
  const sealed = asBuffer(bytes);
  return {
    keyId: sealed.toString("hex", 1, SENDER_AT),
    sender: sealed.toString("hex", SENDER_AT, TIME_AT),
    timeMs: sealed.readUIntBE(TIME_AT, 6),
    counter: sealed.readUIntBE(COUNTER_AT, 6),
  };
}

/**
 * Returns the message; `undefined` if it was not sealed with this key for this subject, or was changed.
 *
 * @param bytes of which `readHeader` has read the header
 */
export function open(key: Uint8Array, subject: string, bytes: Uint8Array): Uint8Array | undefined {
  const sealed = asBuffer(bytes);
  const decipher = createDecipheriv(ALGORITHM, key, nonceOf(sealed), { authTagLength: TAG_BYTES });
  decipher.setAAD(authenticated(sealed, subject)).setAuthTag(sealed.subarray(TAG_AT, SEAL_BYTES));
  const message = decipher.update(sealed.subarray(SEAL_BYTES));
  try {
    decipher.final();
    return message;
  } catch {
    return undefined;
  }
}

function nonceOf(sealed: Buffer): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  nonce.set(sealed.subarray(COUNTER_AT, TAG_AT), NONCE_BYTES - 6);
  return nonce;
}

function authenticated(sealed: Buffer, subject: string): Uint8Array {
  return Buffer.concat([sealed.subarray(0, TAG_AT), Buffer.from(subject)]);
}

const asBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length);
