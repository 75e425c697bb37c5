import { randomBytes } from "node:crypto";
import { CONTENT_DIGEST_BYTES } from "./content-digest.ts";
import type { ContentDigest } from "./layer-layout.ts";

const FIRST_SLOTS = 512;

/** Digests in the order in which they were added, each found in constant time. Takes about 20 bytes for a digest. */
export class DigestTable {
  #digests = Buffer.alloc((FIRST_SLOTS / 2) * CONTENT_DIGEST_BYTES);
  #length = 0;
  /** Index of the first of equal digests plus one, in the slot that its hash gives, or behind it. At most half is full. */
  #slots = new Uint32Array(FIRST_SLOTS);
  /** Of the hash. Random, so that the author of an image cannot choose digests that share a slot. */
  readonly #factors = new Uint32Array(new Uint8Array(randomBytes(3 * 4)).buffer).map((factor) => factor | 1);

  get length(): number {
    return this.#length;
  }

  at(index: number): ContentDigest {
    return this.#digests.toString("hex", index * CONTENT_DIGEST_BYTES, (index + 1) * CONTENT_DIGEST_BYTES);
  }

  /** Returns the index of the first one that is equal: its own, if there is none. */
  add(digest: ContentDigest): number {
    if (this.#length * 2 >= this.#slots.length) this.#grow();
    const index = this.#length++;
    this.#digests.write(digest, index * CONTENT_DIGEST_BYTES, "hex");
    return this.#insert(index);
  }

  #insert(index: number): number {
    const at = index * CONTENT_DIGEST_BYTES;
    const mask = this.#slots.length - 1;
    for (let slot = this.#hash(at) & mask; ; slot = (slot + 1) & mask) {
      const found = (this.#slots[slot] as number) - 1;
      if (found === -1) {
        this.#slots[slot] = index + 1;
        return index;
      }
      const other = found * CONTENT_DIGEST_BYTES;
      const isEqual =
        this.#digests.compare(this.#digests, other, other + CONTENT_DIGEST_BYTES, at, at + CONTENT_DIGEST_BYTES) === 0;
      if (isEqual) return found;
    }
  }

  #hash(at: number): number {
    const [one = 1, two = 1, three = 1] = this.#factors;
    const sum =
      Math.imul(this.#digests.readUInt32LE(at), one) +
      Math.imul(this.#digests.readUInt32LE(at + 4), two) +
      Math.imul(this.#digests.readUInt16LE(at + 8), three);
    // The upper bits depend on all bits.
    return (sum >>> 0) >>> Math.clz32(this.#slots.length - 1);
  }

  #grow(): void {
    this.#digests = Buffer.concat([this.#digests], this.#digests.length * 2);
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (let index = 0; index < this.#length; index++) this.#insert(index);
  }
}
