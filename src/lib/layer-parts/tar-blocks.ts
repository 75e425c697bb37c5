import { createHash } from "node:crypto";
import { type LayerLayout, LayoutError } from "./layer-layout.ts";

const BLOCK_BYTES = 64 * 1024;

/**
 * Gathers the bytes of a layer in blocks, and checks them against the layer's size and digest. There are two blocks, used in
 * turn: one that is filled, and one that waits until the next is full. The last comes only after the check.
 */
export class TarBlocks {
  readonly #layout: Pick<LayerLayout, "size" | "diffId">;
  readonly #hash = createHash("sha256");
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #filled = 0;
  /** Full, and not yet given out. */
  #waiting: Buffer<ArrayBuffer> | undefined;
  #spare = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #size = 0;

  constructor(layout: Pick<LayerLayout, "size" | "diffId">) {
    this.#layout = layout;
  }

  /** Adds bytes if they fit. Returns whether they did; if not, nothing is added, and `spill` must be called. */
  add(bytes: Uint8Array): boolean {
    if (bytes.length > BLOCK_BYTES - this.#filled) return false;
    this.#block.set(bytes, this.#filled);
    this.#filled += bytes.length;
    return true;
  }

  /**
   * Adds bytes, and yields the blocks that are to be passed on. A block is good until the next is asked for.
   *
   * @throws {LayoutError} if the layer becomes too long
   */
  *spill(bytes: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + BLOCK_BYTES - this.#filled);
      this.#block.set(piece, this.#filled);
      this.#filled += piece.length;
      at += piece.length;
      if (this.#filled === BLOCK_BYTES) yield* this.#turn();
    }
  }

  /**
   * Yields the last blocks.
   *
   * @throws {LayoutError} before the last one, if the layer is not what it should be
   */
  *end(): Generator<Uint8Array> {
    const last = this.#block.subarray(0, this.#filled);
    this.#count(last);
    const { size, diffId } = this.#layout;
    if (this.#size !== size) throw new LayoutError(`the layer has ${this.#size} bytes and should have ${size}`);
    const actual = `sha256:${this.#hash.digest("hex")}`;
    if (actual !== diffId) throw new LayoutError(`the layer has the digest ${actual} instead of ${diffId}`);
    if (this.#waiting) yield this.#waiting;
    if (last.length > 0) yield last;
  }

  /** Gives out the block that waits, and lets the full one wait. */
  *#turn(): Generator<Uint8Array> {
    this.#count(this.#block);
    if (this.#waiting) yield this.#waiting;
    const next = this.#waiting ?? this.#spare;
    this.#waiting = this.#block;
    this.#block = next;
    this.#filled = 0;
  }

  #count(bytes: Uint8Array): void {
    this.#size += bytes.length;
    if (this.#size > this.#layout.size) throw new LayoutError(`the layer has more than its ${this.#layout.size} bytes`);
    this.#hash.update(bytes);
  }
}
