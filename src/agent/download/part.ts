import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
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

/** What a part is a part of. */
export interface BlobRef {
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** Bytes of the whole blob. */
  readonly size: number;
}

/**
 * What may be lost in a power cut: so many bytes, or on a fast link what comes in so many milliseconds. Each sync costs
 * flash some 16 KB of the file system's own, at this distance less than 2 % more wear, and holds up whatever else writes
 * to the disk, such as the engine that unpacks the last layer.
 */
const SYNC_INTERVAL_BYTES = 1024 * 1024;
const SYNC_INTERVAL_MS = 1_000;

/**
 * What there is of one blob, on disk and growing at its end. The bytes are hashed as they come. Those a crash left are
 * hashed again when it is opened, as far as they are sound: the state of a hash cannot be kept.
 */
export class Part implements AsyncDisposable {
  readonly blob: BlobRef;
  /** Held by whoever appends. Two pulls of one layer meet here. */
  readonly writeLock = new Semaphore(1);
  readonly #directory: string;
  readonly #file: FileHandle;
  #hash: Hash = createHash("sha256");
  #framer = new Framer(0);
  #size = 0;
  /** Bytes behind those, on their way to the disk. */
  #unwritten: Buffer | undefined;
  #isVerified = false;
  #unsynced = 0;
  #syncedAt = performance.now();
  #syncing: Promise<void> | undefined;
  #changed = Promise.withResolvers<void>();

  private constructor(blob: BlobRef, directory: string, file: FileHandle) {
    this.blob = blob;
    this.#directory = directory;
    this.#file = file;
  }

  /** Opens the part at `path`, created where there is none. Rejects with a `DownloadError`. */
  static async open(blob: BlobRef, directory: string, path: string): Promise<Part> {
    try {
      const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
      const part = new Part(blob, directory, file);
      await part.recover();
      return part;
    } catch (error) {
      throw toDiskError(error, directory);
    }
  }

  /** Bytes there are on disk. */
  get size(): number {
    return this.#size;
  }

  /** Whether it is whole, and what its digest says. */
  get isVerified(): boolean {
    return this.#isVerified;
  }

  /** Resolves with the next change of what there is. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** How far it may be handed on: the last byte only once all of them are known to be right. */
  get readableBytes(): number {
    const arrived = this.#size + (this.#unwritten?.length ?? 0);
    return this.#isVerified ? arrived : Math.min(arrived, Math.max(0, this.blob.size - 1));
  }

  /**
   * Puts bytes behind those there are, no more than the blob has. They can be read at once, and must not change until it
   * resolves. Rejects with a `DownloadError`; then it must be recovered before anything else is appended.
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
    this.#unsynced += bytes.length;
    if (this.#unsynced >= SYNC_INTERVAL_BYTES && performance.now() - this.#syncedAt >= SYNC_INTERVAL_MS) this.#sync();
    this.#notifyChanged();
  }

  /** Whether the whole blob is what its digest says. Only once all its bytes are there. */
  verify(): boolean {
    if (this.#size !== this.blob.size) return false;
    this.#isVerified ||= this.#hash.copy().digest("hex") === this.blob.digest.slice("sha256:".length);
    if (this.#isVerified) this.#notifyChanged();
    return this.#isVerified;
  }

  /**
   * Reads from `position` up to `last`, as far as the buffer goes and what is `readable`. Answers views of the buffer,
   * none where there is nothing to read.
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

  /** Whoever keeps up gets the bytes as they come, and waits for no disk. */
  #readFresh(fresh: Buffer, position: number, last: number, buffer: Buffer): Buffer[] {
    const end = Math.min(last, this.readableBytes, position + buffer.length);
    if (end <= position) return [];
    const copied = fresh.copy(buffer, 0, position - this.#size, end - this.#size);
    return [buffer.subarray(0, copied)];
  }

  /** Forgets every byte: they were not what the digest says. */
  async discard(): Promise<void> {
    try {
      await this.#file.truncate(0);
    } catch (error) {
      throw toDiskError(error, this.#directory);
    }
    this.#reset();
    this.#notifyChanged();
  }

  /** Takes stock of what is in the file: everything up to the first frame that is not sound. */
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

  /** The last frame of a blob is not full and has no checksum: it is right if it makes the whole right. */
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
    await this.#syncing;
    await this.#file.close();
  }

  #reset(): void {
    this.#hash = createHash("sha256");
    this.#framer = new Framer(0);
    this.#size = 0;
    this.#isVerified = false;
  }

  /** Beside the writing: on a memory card it takes as long as the next second of the download. */
  #sync(): void {
    if (this.#syncing) return;
    this.#unsynced = 0;
    this.#syncedAt = performance.now();
    // A failure would show in what is read: the engine checks every byte itself.
    this.#syncing = this.#file.datasync().catch(() => {});
    void this.#syncing.then(() => (this.#syncing = undefined));
  }

  #notifyChanged(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

async function writeAll(file: FileHandle, buffers: readonly Buffer[], position: number): Promise<void> {
  let rest = [...buffers];
  let at = position;
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest, at);
    at += bytesWritten;
    rest = after(rest, bytesWritten);
  }
}

/** What is left of the buffers behind the first `count` bytes. */
function after(buffers: readonly Buffer[], count: number): Buffer[] {
  let skip = count;
  return buffers.flatMap((buffer) => {
    const rest = buffer.subarray(Math.min(skip, buffer.length));
    skip -= buffer.length - rest.length;
    return rest.length > 0 ? [rest] : [];
  });
}
