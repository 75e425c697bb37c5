import { ByteReader } from "../../lib/layer-parts/byte-reader.ts";
import { paddingOf, paxSize, readTarHeader, TAR_BLOCK_BYTES } from "../../lib/layer-parts/layer-index/tar-header.ts";

/** Extended headers of files in images are shorter. */
const MAX_PAX_BYTES = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/**
 * Goes through the files with content of an exported image, in its order. Their number and order are those of the engine's
 * export; what a header says is not checked, since every content is known by its digest. Bytes that it returns are good until its
 * next call. Dispose of it to end the archive.
 */
export class ExportedFiles implements AsyncDisposable {
  readonly #reader: ByteReader;
  #number = -1;
  #size = 0;
  /** Bytes of the file that were not read. */
  #left = 0;
  /** What follows what is read now: a padding, or the content of an entry that is no file. */
  #toSkip = 0;
  /** Bytes of an extended header, 0 if none comes. */
  #paxBytes = 0;
  /** From an extended header, for the next header. */
  #nextSize: number | undefined;

  constructor(archive: AsyncIterable<Uint8Array>) {
    this.#reader = new ByteReader(archive);
  }

  /** Of the file that was gone to; 0 for the first. */
  get number(): number {
    return this.#number;
  }

  /** Bytes of the file that was gone to. */
  get size(): number {
    return this.#size;
  }

  /** Goes to the next file. Returns false after the last one, and `undefined` if that needs bytes that are not at hand. */
  nextNow(): boolean | undefined {
    this.#toSkip += this.#left;
    this.#left = 0;
    for (;;) {
      this.#toSkip -= this.#reader.skipNow(this.#toSkip);
      if (this.#toSkip > 0) return undefined;
      const bytes = this.#reader.takeNow(this.#paxBytes || TAR_BLOCK_BYTES);
      if (!bytes) return undefined;
      if (this.#paxBytes > 0) {
        this.#nextSize = paxSize(bytes);
        this.#toSkip = paddingOf(this.#paxBytes);
        this.#paxBytes = 0;
        continue;
      }
      const header = readTarHeader(bytes);
      if (!header) return false;
      if (header.kind === "pax" && header.size > 0 && header.size <= MAX_PAX_BYTES) {
        this.#paxBytes = header.size;
        continue;
      }
      const size = header.kind === "file" ? (this.#nextSize ?? header.size) : header.size;
      if (header.kind !== "metadata") this.#nextSize = undefined;
      if (header.kind === "file" && size > 0) return this.#begin(size);
      this.#toSkip = size + paddingOf(size);
    }
  }

  /** Resolves to whether there is a next file, and goes to it. Rejects if the archive is cut off. */
  async next(): Promise<boolean> {
    for (;;) {
      const found = this.nextNow();
      if (found !== undefined) return found;
      const isCut = this.#toSkip > 0 || this.#paxBytes > 0;
      if (await this.#reader.more(this.#toSkip > 0 ? 1 : this.#paxBytes || TAR_BLOCK_BYTES)) continue;
      if (isCut) throw cutOff();
      return false;
    }
  }

  /** Returns the content of the file, or `undefined` if it is not at hand. */
  wholeNow(): Uint8Array | undefined {
    const bytes = this.#reader.takeNow(this.#left);
    if (bytes) this.#left = 0;
    return bytes;
  }

  /** Resolves to the content of the file. For files that fit into memory. */
  async whole(): Promise<Uint8Array> {
    if (!(await this.#reader.more(this.#left))) throw cutOff();
    return this.wholeNow() as Uint8Array;
  }

  /** Yields the content of the file. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    while (this.#left > 0) {
      const piece = await this.#reader.takeSome(Math.min(this.#left, PIECE_BYTES));
      if (!piece) throw cutOff();
      this.#left -= piece.length;
      yield piece;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader[Symbol.asyncDispose]();
  }

  #begin(size: number): true {
    this.#number++;
    this.#size = size;
    this.#left = size;
    this.#toSkip = paddingOf(size);
    return true;
  }
}

function cutOff(): Error {
  return new Error("the engine sent an archive that is cut off");
}
