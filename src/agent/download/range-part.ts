import type { FileHandle } from "node:fs/promises";
import { type Span, subtractSpans } from "../../lib/layer-parts/ranges.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { toDiskError } from "./download-error.ts";
import { HeldRanges } from "./held-ranges.ts";
import type { BlobRef } from "./part.ts";
import { decodeHeader, encodeHeader, HEADER_BYTES, isFrameIntact, MAX_FRAME_DATA_BYTES } from "./range-frames.ts";
import { openPart, PacedSync, writeAll } from "./part-file.ts";

/**
 * Ranges of a blob on disk. They may come in any order and in any number of attempts: what the device needs of a blob depends
 * on what else it has, which may change, and nothing that was received is fetched again for that.
 */
export class RangePart implements AsyncDisposable {
  readonly blob: BlobRef;
  /** Serializes concurrent pulls of the same layer. */
  readonly writeLock = new Semaphore(1);
  readonly #directory: string;
  readonly #file: FileHandle;
  readonly #sync: PacedSync;
  readonly #held = new HeldRanges();
  readonly #suspects: Span[] = [];
  #end = 0;
  /** A write was stopped in its middle. */
  #isBroken = false;

  private constructor(blob: BlobRef, directory: string, file: FileHandle) {
    this.blob = blob;
    this.#directory = directory;
    this.#file = file;
    this.#sync = new PacedSync(file);
  }

  /** Opens the part at `path`, created if missing. Rejects with a `DownloadError`. */
  static async open(blob: BlobRef, directory: string, path: string): Promise<RangePart> {
    return await openPart(directory, path, (file) => new RangePart(blob, directory, file));
  }

  /** What is on disk: disjoint, in the order of the blob. */
  get held(): readonly Span[] {
    return this.#held.spans;
  }

  /** Returns what of the spans is not on disk. */
  missing(spans: Iterable<Span>): Span[] {
    return subtractSpans(spans, this.#held.spans);
  }

  /** Whether all bytes of a span are on disk. */
  has({ offset, length }: Span): boolean {
    for (let at = offset; at < offset + length;) {
      const held = this.#held.at(at);
      if (!held) return false;
      at = held.offset + held.length;
    }
    return true;
  }

  /** Remembers, until it is closed, a span that is not what it was described to be. Either may be wrong. */
  suspect(span: Span): void {
    this.#suspects.push(span);
  }

  /** Forgets the suspected bytes. Resolves to whether there were any. Rejects with a `DownloadError`. */
  async dropSuspects(): Promise<boolean> {
    const suspects = this.#suspects.splice(0);
    for (const span of suspects) await this.drop(span);
    return suspects.length > 0;
  }

  /**
   * Appends bytes of the blob. Rejects with a `DownloadError`; then `repair` must be called before the next append. One call at a
   * time.
   */
  async append(offset: number, bytes: Buffer): Promise<void> {
    if (offset + bytes.length > this.blob.size) throw new RangeError("more bytes than the blob has");
    const written: Buffer[] = [];
    const added: { offset: number; length: number; position: number }[] = [];
    let position = this.#end;
    for (let at = 0; at < bytes.length; at += MAX_FRAME_DATA_BYTES) {
      const data = bytes.subarray(at, at + MAX_FRAME_DATA_BYTES);
      const frame = { offset: offset + at, length: data.length };
      written.push(encodeHeader({ ...frame, isDrop: false }, data), data);
      added.push({ ...frame, position: position + HEADER_BYTES });
      position += HEADER_BYTES + data.length;
    }
    await this.#write(written);
    this.#end = position;
    for (const range of added) this.#held.add(range);
    this.#sync.written(bytes.length);
  }

  /** Forgets a range, because its bytes are wrong. Rejects with a `DownloadError`. */
  async drop(span: Span): Promise<void> {
    const { offset, length } = span;
    this.#held.drop(span);
    const header = encodeHeader({ offset, length, isDrop: true }, Buffer.alloc(0));
    await this.#write([header]);
    this.#end += header.length;
  }

  /** Yields the bytes of a range that is on disk. Rejects with a `DownloadError`. */
  async *read({ offset, length }: Span): AsyncGenerator<Uint8Array> {
    for (let at = offset; at < offset + length;) {
      const held = this.#held.at(at);
      if (!held) throw new RangeError("a range was read before it was fetched");
      const wanted = Math.min(offset + length, held.offset + held.length) - at;
      const buffer = Buffer.allocUnsafe(wanted);
      const { bytesRead } = await this.#file
        .read(buffer, 0, wanted, held.position + at - held.offset)
        .catch((error: unknown) => Promise.reject(toDiskError(error, this.#directory)));
      if (bytesRead < wanted) throw toDiskError(new Error("the file is shorter than it was"), this.#directory);
      yield buffer;
      at += wanted;
    }
  }

  /** Must be called by the holder of the write lock before bytes are appended: the last writer may have been stopped. */
  async repair(): Promise<void> {
    if (this.#isBroken) await this.recover();
  }

  /** Keeps the frames in the file up to the first damaged one, and cuts off the rest. */
  async recover(): Promise<void> {
    this.#held.clear();
    this.#end = 0;
    const header = Buffer.alloc(HEADER_BYTES);
    const data = Buffer.allocUnsafe(MAX_FRAME_DATA_BYTES);
    try {
      for (;;) {
        const { bytesRead } = await this.#file.read(header, 0, HEADER_BYTES, this.#end);
        const frame = decodeHeader(header.subarray(0, bytesRead));
        if (!frame || frame.offset + frame.length > this.blob.size) break;
        const position = this.#end + HEADER_BYTES;
        const size = frame.isDrop ? 0 : frame.length;
        const read = size === 0 ? 0 : (await this.#file.read(data, 0, size, position)).bytesRead;
        if (read < size || !isFrameIntact(header, data.subarray(0, size))) break;
        if (frame.isDrop) this.#held.drop(frame);
        else this.#held.add({ offset: frame.offset, length: frame.length, position });
        this.#end = position + size;
      }
      await this.#file.truncate(this.#end);
      this.#isBroken = false;
    } catch (error) {
      throw toDiskError(error, this.#directory);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sync.settled();
    await this.#file.close();
  }

  async #write(buffers: readonly Buffer[]): Promise<void> {
    this.#isBroken = true;
    try {
      await writeAll(this.#file, buffers, this.#end);
      this.#isBroken = false;
    } catch (error) {
      throw toDiskError(error, this.#directory);
    }
  }
}
