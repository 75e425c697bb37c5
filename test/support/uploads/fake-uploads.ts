import type { BlobRequest } from "../../../src/agent/download/blob-download.ts";
import type { TransferProgress } from "../../../src/agent/download/ports.ts";
import type { SomeUpload } from "./upload.ts";
import { RegistryError } from "../../../src/agent/registry/registry-error.ts";

const CHUNK_BYTES = 4_096;

/** The uploads of the service, as an agent downloads them in memory. */
export class FakeUploads {
  /** By hash. */
  readonly packed = new Map<string, Buffer>();
  /** Hashes in the order in which they were fetched. */
  readonly fetched: string[] = [];
  /** Until it resolves, no download gets on. */
  hold: Promise<void> = Promise.resolve();
  /** Bytes that were received, in all. */
  paid = 0;
  /** Called before each chunk, and before each that is taken from what was received; may throw, as a process dies. */
  onChunk = (): void => {};
  /** Bytes of each that the device has by now: they survive a restart, as partial downloads on disk do. */
  readonly #received = new Map<string, number>();

  add({ sha256, packed }: Pick<SomeUpload, "sha256" | "packed">): void {
    this.packed.set(sha256, packed);
  }

  async read(request: BlobRequest, use: (content: AsyncIterable<Buffer>) => Promise<void>): Promise<TransferProgress> {
    const { blob, onReceived, onProgress, signal } = request;
    const hash = blob.digest.slice("sha256:".length);
    this.fetched.push(hash);
    await this.hold;
    signal.throwIfAborted();
    const packed = this.packed.get(hash);
    if (!packed) throw new RegistryError("image_not_found", "no such blob");
    const total = packed.length;
    let received = 0;
    for (let at = this.#received.get(hash) ?? 0; at < total;) {
      this.onChunk();
      const bytes = Math.min(CHUNK_BYTES, total - at);
      this.#received.set(hash, (at += bytes));
      this.paid += bytes;
      received += bytes;
      onReceived(bytes);
      onProgress({ done: at, total, received, cuts: 0 });
      signal.throwIfAborted();
    }
    await use(this.#chunksOf(packed));
    this.#received.delete(hash);
    return { done: total, total, received, cuts: 0 };
  }

  async forget(digests: readonly string[]): Promise<void> {
    for (const digest of digests) this.#received.delete(digest.slice("sha256:".length));
  }

  /** Hashes of what was received, as far as nothing has taken it. */
  get unfinished(): readonly string[] {
    return [...this.#received.keys()];
  }

  async *#chunksOf(packed: Buffer): AsyncGenerator<Buffer> {
    for (let at = 0; at < packed.length; at += CHUNK_BYTES) {
      this.onChunk();
      yield packed.subarray(at, at + CHUNK_BYTES);
    }
  }
}
