import { open } from "node:fs/promises";
import type { Descriptor, RegistryAuth, RegistryClient, ResolvedImage } from "../registry/registry.ts";
import { DownloadError, toDiskError } from "./download-error.ts";
import type { DownloaderOptions } from "./downloader-options.ts";
import { fillPart } from "./fill-part.ts";
import type { Part } from "./part.ts";
import type { PartStore } from "./part-store.ts";
import type { FetchInterruption, TransferProgress } from "./ports.ts";
import { Throttle } from "./throttle.ts";
import { Transfer } from "./transfer.ts";
import { writeAll } from "./part-file.ts";

const CHUNK_BYTES = 256 * 1024;

export interface BlobRequest {
  readonly image: Pick<ResolvedImage, "registry" | "repository">;
  readonly blob: Descriptor;
  readonly auth: RegistryAuth | undefined;
  readonly onProgress: (progress: TransferProgress) => void;
  readonly onInterruption: (interruption: FetchInterruption) => void;
  readonly onReceived: (bytes: number) => void;
  readonly signal: AbortSignal;
}

export interface BlobDownloadRequest extends BlobRequest {
  /** The file that gets the blob; created, or replaced. On stable storage when the download resolves. */
  readonly path: string;
}

export interface BlobDownloaderOptions extends Pick<DownloaderOptions, "makeRoom" | "rules"> {
  readonly registry: Pick<RegistryClient, "openBlob">;
  readonly parts: PartStore;
}

/** Downloads single blobs, which the engine does not get: resumed after cuts and restarts, as layers of images are. */
export class BlobDownloader {
  readonly #options: BlobDownloaderOptions;
  readonly #throttle: Throttle;

  constructor(options: BlobDownloaderOptions) {
    this.#options = options;
    this.#throttle = new Throttle(options.rules.clock, options.rules.rate);
  }

  /** Resolves when the file has the blob. Rejects with a `DownloadError`, a `RegistryError`, or the signal's reason. */
  async download({ path, ...request }: BlobDownloadRequest): Promise<TransferProgress> {
    const { blob, signal } = request;
    return await this.#fetch(request, async (part) => {
      try {
        await using file = await open(path, "w", 0o600);
        const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
        for (let at = 0; at < blob.size;) {
          signal.throwIfAborted();
          for (const bytes of await part.read(at, blob.size, buffer)) {
            await writeAll(file, [bytes], at);
            at += bytes.length;
          }
        }
        await file.sync();
      } catch (error) {
        signal.throwIfAborted();
        throw toDiskError(error, path);
      }
    });
  }

  /**
   * Passes the bytes of a blob to `use`, once all of them are there. They stay on disk until that has resolved, so that a crash before
   * does not cost them again. Rejects as `download` does, and with what `use` throws.
   */
  async read(request: BlobRequest, use: (content: AsyncIterable<Buffer>) => Promise<void>): Promise<TransferProgress> {
    return await this.#fetch(request, (part) => use(bytesOf(part, request)));
  }

  /** Removes what is left of blobs that the caller has by now, as after a crash behind `use`. */
  async forget(digests: readonly string[]): Promise<void> {
    await this.#options.parts.remove(digests);
  }

  /** Fetches a blob, and removes what was fetched when `use` has resolved. */
  async #fetch(request: BlobRequest, use: (part: Part) => Promise<void>): Promise<TransferProgress> {
    const { image, blob, auth, onProgress, onInterruption, onReceived, signal } = request;
    const { parts, registry, makeRoom, rules } = this.#options;
    await using lease = await parts.lease(blob);
    const { part } = lease;
    const transfer = new Transfer(blob.size);
    const update = (): void => {
      transfer.layer(blob.digest, blob.size, part.size);
      onProgress(transfer.progress);
    };
    update();
    const fill = (): Promise<void> =>
      fillPart(part, {
        ...rules,
        throttle: this.#throttle,
        open: (offset, aborted) => registry.openBlob(image, blob, { offset, auth, signal: aborted }),
        onReceived: (bytes) => {
          transfer.received(bytes);
          onReceived(bytes);
        },
        onAppended: update,
        onInterruption: (interruption) => {
          if (interruption.kind === "cut") transfer.cut();
          onInterruption(interruption);
        },
        onDropped: update,
        signal,
      });
    await fill().catch(async (error: unknown) => {
      const isFull = error instanceof DownloadError && error.kind === "no_space";
      if (!isFull || !(await makeRoom())) throw error;
      await fill();
    });
    await use(part);
    lease.remove();
    return transfer.progress;
  }
}

async function* bytesOf(part: Part, { blob, signal }: BlobRequest): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let at = 0; at < blob.size;) {
    signal.throwIfAborted();
    for (const bytes of await part.read(at, blob.size, buffer)) {
      // The buffer is read into again, and the caller may keep what it got.
      yield Buffer.from(bytes);
      at += bytes.length;
    }
  }
}
