import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Sealed } from "../store/asset-settings.ts";
import type { Sealer } from "./sealer.ts";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A key of 32 bytes with the id that is stored with what it seals. */
export interface SealingKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** Seals with AES-256-GCM under a random nonce: nonce, tag, ciphertext. The purpose is authenticated, not stored. */
export class AesSealer implements Sealer {
  readonly #key: SealingKey;
  readonly #keys: ReadonlyMap<string, SealingKey>;

  /** @param key seals; `older` keys open what was sealed before the key was changed */
  constructor(key: SealingKey, older: readonly SealingKey[] = []) {
    this.#key = key;
    this.#keys = new Map([key, ...older].map((each) => [each.id, each]));
  }

  seal(plaintext: Uint8Array, purpose: string): Sealed {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key.bytes, nonce).setAAD(Buffer.from(purpose));
    const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
    return { keyId: this.#key.id, sealed: Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]) };
  }

  open({ keyId, sealed }: Sealed, purpose: string): Uint8Array {
    const key = this.#keys.get(keyId);
    if (!key) throw new Error(`the sealing key ${keyId} is missing`);
    const start = NONCE_BYTES + TAG_BYTES;
    const decipher = createDecipheriv(ALGORITHM, key.bytes, sealed.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(purpose))
      .setAuthTag(sealed.subarray(NONCE_BYTES, start));
    return Buffer.concat([decipher.update(sealed.subarray(start)), decipher.final()]);
  }
}
