import type { ImageDownloadRequest, ImageDownloader } from "../../src/agent/download/image-downloader.ts";
import type { TransferProgress } from "../../src/agent/download/transfer.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { EngineError } from "../../src/agent/engine/engine-error.ts";
import { manifestDigestOf } from "./fake-engine/fake-image.ts";
import type { FakeEngine } from "./fake-engine.ts";

const STEPS = 10;

/**
 * Downloads from the registry of a fake engine: each layer in ten pieces, which survive a crash of the agent. Then the
 * engine pulls the image from loopback, as with the real downloader.
 */
export class FakeDownloader implements ImageDownloader {
  /** Bytes received over the link. */
  received = 0;
  /** If set, thrown instead of receiving the next piece. */
  failure: Error | undefined;
  readonly #engine: FakeEngine;
  readonly #clock: Clock;
  readonly #parts = new Map<string, number>();

  constructor(engine: FakeEngine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  async download({ image, onProgress, onReceived, signal }: ImageDownloadRequest): Promise<TransferProgress> {
    const loopback = `127.0.0.1:1/${"0".repeat(32)}@${image.digest}`;
    const total = image.layers.reduce((sum, { size }) => sum + size, 0);
    const pieceMs = this.#pullMs(image.digest) / (STEPS * Math.max(1, image.layers.length));
    let received = 0;
    const progress = (): TransferProgress => {
      const done = image.layers.reduce((sum, { digest }) => sum + (this.#parts.get(digest) ?? 0), 0);
      return { done, total, received, cuts: 0 };
    };
    for (const { digest, size } of image.layers) {
      for (let done = this.#parts.get(digest) ?? 0; done < size; done = this.#parts.get(digest) ?? 0) {
        if (pieceMs > 0) await this.#clock.sleep(pieceMs, signal);
        signal.throwIfAborted();
        if (this.failure) throw this.failure;
        const piece = Math.min(size - done, Math.ceil(size / STEPS));
        this.#parts.set(digest, done + piece);
        received += piece;
        this.received += piece;
        onReceived(piece);
        onProgress(progress());
      }
    }
    const result = progress();
    await this.#engine.pullImage(loopback, () => {}, signal, { isInsecure: true });
    await this.#engine.tagImage(loopback, image.reference, signal);
    await this.#engine.untagImage(loopback, signal);
    for (const { digest } of image.layers) this.#parts.delete(digest);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #pullMs(digest: string): number {
    const published = this.#engine.publishedAll().map(([, image]) => image);
    const image = published.find((other) => !(other instanceof EngineError) && manifestDigestOf(other) === digest);
    return image instanceof EngineError ? 0 : (image?.pullMs ?? 0);
  }
}
