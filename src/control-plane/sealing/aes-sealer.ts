import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Sealed } from "../store/asset-settings.ts";
import { type Seal, type Sealer, UnsealError } from "./sealer.ts";

const ALGORITHM = "aes-256-gcm";
/** First byte of a sealed value, for a later format to differ in. */
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TAG_START = 1 + NONCE_BYTES;
const TEXT_START = TAG_START + TAG_BYTES;

/** A key of 32 bytes with the id that is stored with what it seals. */
export interface SealingKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** Seals with AES-256-GCM under a random nonce: format, nonce, tag, ciphertext. The purpose is authenticated, not stored. */
export class AesSealer implements Sealer {
  readonly #key: SealingKey;
  readonly #keys: ReadonlyMap<string, SealingKey>;

  /** @param key seals; the `others` open what was sealed with them */
  constructor(key: SealingKey, others: readonly SealingKey[] = []) {
    this.#key = key;
    this.#keys = new Map([key, ...others].map((each) => [each.id, each]));
  }

  async sealing(): Promise<Seal> {
    return this.seal.bind(this);
  }

  seal(plaintext: Uint8Array, purpose: string): Sealed {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key.bytes, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(purpose));
    const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
    return {
      keyId: this.#key.id,
      sealed: Buffer.concat([Uint8Array.of(FORMAT), nonce, cipher.getAuthTag(), ciphertext]),
    };
  }

  open({ keyId, sealed }: Sealed, purpose: string): Uint8Array {
    const key = this.#keys.get(keyId);
    if (!key) throw new UnsealError(purpose, keyId, `its key ${keyId} is not in the key file`);
    if (sealed[0] !== FORMAT) throw new UnsealError(purpose, keyId, "it has a format that this version does not know");
    if (sealed.length < TEXT_START) throw new UnsealError(purpose, keyId, "it is truncated");
    try {
      const nonce = sealed.subarray(1, TAG_START);
      // A shorter tag can be guessed; earlier versions of Node.js accept one of 4 bytes without this length.
      const decipher = createDecipheriv(ALGORITHM, key.bytes, nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(sealed.subarray(TAG_START, TEXT_START));
      return Buffer.concat([decipher.update(sealed.subarray(TEXT_START)), decipher.final()]);
    } catch {
      throw new UnsealError(purpose, keyId, "it was changed, or sealed for something else");
    }
  }
}
