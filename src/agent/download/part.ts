import { createHash, type Hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { Semaphore } from "../../lib/semaphore.ts";
import { toDiskError } from "./download-error.ts";
import {
  filePosition,
  FRAME_BYTES,
  FRAME_DATA_BYTES,
  Framer,
  frameStart,
  isFrameValid,
  withoutChecksums,
} from "./part-format.ts";
import { openPart, PacedSync, writeAll } from "./part-file.ts";

/** Identifies a blob. */
export interface BlobRef {
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** Bytes of the whole blob. */
  readonly size: number;
}

/**
 * The beginning of a blob on disk, growing at its end. Bytes are hashed as they arrive; the valid bytes left by an
 * earlier run are hashed again on opening, because the state of a hash cannot be saved.
 */
export class Part implements AsyncDisposable {
  readonly blob: BlobRef;
  /** Serializes concurrent pulls of the same layer. */
  readonly writeLock = new Semaphore(1);
  readonly #directory: string;
  readonly #file: FileHandle;
  readonly #sync: PacedSync;
  #hash: Hash = createHash("sha256");
  #framer = new Framer(0);
  #size = 0;
  /** Bytes after those, being written. */
  #unwritten: Buffer | undefined;
  #isVerified = false;
  #changed = Promise.withResolvers<void>();

  private constructor(blob: BlobRef, directory: string, file: FileHandle) {
    this.blob = blob;
    this.#directory = directory;
    this.#file = file;
    this.#sync = new PacedSync(file);
  }

  /** Opens the part at `path`, created if missing. Rejects with a `DownloadError`. */
  static async open(blob: BlobRef, directory: string, path: string): Promise<Part> {
    return await openPart(directory, path, (file) => new Part(blob, directory, file));
  }

  /** Bytes on disk. */
  get size(): number {
    return this.#size;
  }

  /** Whether it is complete and matches its digest. */
  get isVerified(): boolean {
    return this.#isVerified;
  }

  /** Resolves at the next change of its content. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** How many bytes may be served: the last byte only after verification. */
  get readableBytes(): number {
    const arrived = this.#size + (this.#unwritten?.length ?? 0);
    return this.#isVerified ? arrived : Math.min(arrived, Math.max(0, this.blob.size - 1));
  }

  /**
   * Appends bytes, up to the size of the blob. They can be read at once, and must not change until it resolves. Rejects
   * with a `DownloadError`; then `recover` must be called before the next append.
   */
  async append(bytes: Buffer): Promise<void> {
    if (this.#size + bytes.length > this.blob.size) throw new RangeError("more bytes than the blob has");
    this.#hash.update(bytes);
    const framed = this.#framer.frame(bytes);
    this.#unwritten = bytes;
    this.#notifyChanged();
    try {
      await writeAll(this.#file, framed, filePosition(this.#size));
    } catch (error) {
      throw toDiskError(error, this.#directory);
    } finally {
      this.#unwritten = undefined;
    }
    this.#size += bytes.length;
    this.#sync.written(bytes.length);
    this.#notifyChanged();
  }

  /** Compares the blob with its digest. `false` while bytes are missing. */
  verify(): boolean {
    if (this.#size !== this.blob.size) return false;
    this.#isVerified ||= this.#hash.copy().digest("hex") === this.blob.digest.slice("sha256:".length);
    if (this.#isVerified) this.#notifyChanged();
    return this.#isVerified;
  }

  /**
   * Reads the bytes `position` to `last` (exclusive) as far as they are readable and fit into the buffer. Resolves to
   * views of the buffer, none when there is nothing to read.
   */
  async read(position: number, last: number, buffer: Buffer): Promise<Buffer[]> {
    if (this.#unwritten && position >= this.#size) return this.#readFresh(this.#unwritten, position, last, buffer);
    const frames = Math.floor(buffer.length / FRAME_BYTES);
    const end = Math.min(last, this.readableBytes, this.#size, frameStart(position) + frames * FRAME_DATA_BYTES);
    if (end <= position) return [];
    const from = filePosition(position);
    const { bytesRead } = await this.#file.read(buffer, 0, filePosition(end) - from, from);
    return withoutChecksums(buffer.subarray(0, bytesRead), position, end);
  }

  /** Serves a reader that keeps up from memory, without waiting for the disk. */
  #readFresh(fresh: Buffer, position: number, last: number, buffer: Buffer): Buffer[] {
    const end = Math.min(last, this.readableBytes, position + buffer.length);
    if (end <= position) return [];
    const copied = fresh.copy(buffer, 0, position - this.#size, end - this.#size);
    return [buffer.subarray(0, copied)];
  }

  /** Removes all bytes, because they do not match the digest. */
  async discard(): Promise<void> {
    try {
      await this.#file.truncate(0);
    } catch (error) {
      throw toDiskError(error, this.#directory);
    }
    this.#reset();
    this.#notifyChanged();
  }

  /** Keeps the bytes in the file up to the first invalid frame, and cuts off the rest. */
  async recover(): Promise<void> {
    this.#reset();
    try {
      const frame = Buffer.allocUnsafe(FRAME_BYTES);
      for (;;) {
        const { bytesRead } = await this.#file.read(frame, 0, FRAME_BYTES, filePosition(this.#size));
        const read = frame.subarray(0, bytesRead);
        if (isFrameValid(read) && this.#size + FRAME_DATA_BYTES <= this.blob.size) {
          this.#hash.update(read.subarray(0, FRAME_DATA_BYTES));
          this.#size += FRAME_DATA_BYTES;
          continue;
        }
        this.#recoverLastFrame(read);
        break;
      }
      await this.#file.truncate(filePosition(this.#size));
    } catch (error) {
      throw toDiskError(error, this.#directory);
    }
    this.#framer = new Framer(this.#size);
    this.#notifyChanged();
  }

  /** The last frame is not full and has no checksum: it is valid if the whole blob matches the digest. */
  #recoverLastFrame(bytes: Buffer): void {
    const missing = this.blob.size - this.#size;
    if (missing > bytes.length || missing >= FRAME_DATA_BYTES) return;
    const whole = this.#hash.copy().update(bytes.subarray(0, missing));
    if (whole.copy().digest("hex") !== this.blob.digest.slice("sha256:".length)) return;
    this.#hash = whole;
    this.#size = this.blob.size;
    this.#isVerified = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sync.settled();
    await this.#file.close();
  }

  #reset(): void {
    this.#hash = createHash("sha256");
    this.#framer = new Framer(0);
    this.#size = 0;
    this.#isVerified = false;
  }

  #notifyChanged(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}
