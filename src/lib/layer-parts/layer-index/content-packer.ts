import { createHash, type Hash } from "node:crypto";
import { constants, zstdCompressSync } from "node:zlib";
import { ContentCutter } from "../content-cutter.ts";
import { contentDigest, digestOfHash } from "../content-digest.ts";
import { type ContentDigest, LayoutError } from "../layer-layout.ts";
import type { IndexTable, PartPlace } from "./format.ts";

/** One percent larger than with level 19, in a third of the time. */
const LEVEL = 15;

export type WritePack = (bytes: Uint8Array) => void | Promise<void>;

/** Packs contents, each part once. */
export class ContentPacker {
  readonly contents: IndexTable["contents"][number][] = [];
  /** Bytes of the pack so far. */
  packSize = 0;
  readonly #writePack: WritePack;
  readonly #maxEntries: number;
  readonly #indexes = new Map<ContentDigest, number>();
  readonly #packedParts = new Set<ContentDigest>();
  #entries = 0;
  #hash: Hash = createHash("sha256");
  #cutter = new ContentCutter(0);
  #parts: PartPlace[] = [];

  constructor(writePack: WritePack, maxEntries: number) {
    this.#writePack = writePack;
    this.#maxEntries = maxEntries;
  }

  /** @param size bytes of the content */
  begin(size: number): void {
    this.#hash = createHash("sha256");
    this.#cutter = new ContentCutter(size);
    this.#parts = [];
  }

  async add(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    for (const part of this.#cutter.read(bytes)) await this.#pack(part);
  }

  /**
   * Resolves to the index of the content.
   *
   * @throws {LayoutError} if there are too many
   */
  async end(): Promise<number> {
    const rest = this.#cutter.end();
    if (rest !== undefined) await this.#pack(rest);
    const digest = digestOfHash(this.#hash);
    const known = this.#indexes.get(digest);
    this.#entries += known === undefined ? this.#parts.length + 2 : 1;
    if (this.#entries > this.#maxEntries)
      throw new LayoutError(`the layer has more than ${this.#maxEntries} files and parts`);
    if (known !== undefined) return known;
    this.#indexes.set(digest, this.contents.length);
    return this.contents.push({ digest, parts: this.#parts }) - 1;
  }

  async #pack(bytes: Uint8Array): Promise<void> {
    const digest = contentDigest(bytes);
    const isKnown = this.#packedParts.has(digest);
    const packed = isKnown
      ? Buffer.alloc(0)
      : zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
    this.#parts.push({ digest, size: bytes.length, length: packed.length });
    if (isKnown) return;
    this.#packedParts.add(digest);
    this.packSize += packed.length;
    await this.#writePack(packed);
  }
}
