import type { BlobRequest } from "../../../src/agent/download/blob-download.ts";
import type { TransferProgress } from "../../../src/agent/download/ports.ts";
import type { SomeUpload } from "./upload.ts";
import { RegistryError } from "../../../src/agent/registry/registry-error.ts";

/** The uploads of the service, as an agent downloads them in memory. */
export class FakeUploads {
  /** By hash. */
  readonly packed = new Map<string, Buffer>();
  /** Hashes in the order in which they were fetched. */
  readonly fetched: string[] = [];
  /** Until it resolves, no download gets on. */
  hold: Promise<void> = Promise.resolve();

  add({ sha256, packed }: Pick<SomeUpload, "sha256" | "packed">): void {
    this.packed.set(sha256, packed);
  }

  async read(request: BlobRequest, use: (content: Buffer) => void): Promise<TransferProgress> {
    const { blob, onReceived, onProgress, signal } = request;
    const hash = blob.digest.slice("sha256:".length);
    this.fetched.push(hash);
    await this.hold;
    signal.throwIfAborted();
    const packed = this.packed.get(hash);
    if (!packed) throw new RegistryError("image_not_found", "no such blob");
    onReceived(packed.length);
    const progress = { done: packed.length, total: packed.length, received: packed.length, cuts: 0 };
    onProgress(progress);
    signal.throwIfAborted();
    use(packed);
    return progress;
  }
}
