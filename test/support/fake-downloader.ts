import type {
  DownloadedImage,
  ImageDownloadRequest,
  ImageDownloader,
  PlanPartsRequest,
  TransferProgress,
} from "../../src/agent/download/ports.ts";
import type { PartsCosts } from "../../src/agent/core/image/pull-cost.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { EngineError } from "../../src/agent/engine/engine-error.ts";
import { manifestDigestOf } from "./fake-engine/fake-image.ts";
import type { FakeEngine } from "./fake-engine.ts";

const STEPS = 10;

/**
 * Downloads from the registry of a fake engine: a layer in ten pieces, which survive a restart of the agent. Then has
 * the engine pull the image by a loopback name, as the real downloader does.
 */
export class FakeDownloader implements ImageDownloader {
  /** Bytes received from the network. */
  received = 0;
  /** Thrown instead of the next piece. */
  failure: Error | undefined;
  /** What layers cost by parts. */
  parts: PartsCosts = new Map();
  /** Whether what the device was to have is gone when the download begins. */
  losesContents = false;
  /** Requests for what layers cost by parts. */
  readonly planned: PlanPartsRequest[] = [];
  readonly #engine: FakeEngine;
  readonly #clock: Clock;
  readonly #parts = new Map<string, number>();

  constructor(engine: FakeEngine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  async download({ image, onProgress, onReceived, signal }: ImageDownloadRequest): Promise<DownloadedImage> {
    const loopback = `127.0.0.1:1/${"0".repeat(32)}@${image.digest}`;
    const layers = image.layers.map(({ digest, size }) => {
      return { digest, size: this.losesContents ? size : (this.parts.get(digest)?.downloadBytes ?? size) };
    });
    const total = layers.reduce((sum, { size }) => sum + size, 0);
    const pieceMs = this.#pullMs(image.digest) / (STEPS * Math.max(1, image.layers.length));
    let received = 0;
    const progress = (): TransferProgress => {
      const done = layers.reduce((sum, { digest }) => sum + (this.#parts.get(digest) ?? 0), 0);
      return { done, total, received, cuts: 0 };
    };
    for (const { digest, size } of layers) {
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
    const pulled = await this.#engine.pullImage(loopback, () => {}, signal, { isInsecure: true });
    await this.#engine.tagImage(loopback, image.reference, signal);
    await this.#engine.untagImage(loopback, signal);
    for (const { digest } of image.layers) this.#parts.delete(digest);
    return { image: pulled, progress: result };
  }

  async planParts(request: PlanPartsRequest): Promise<PartsCosts> {
    this.planned.push(request);
    return this.parts;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #pullMs(digest: string): number {
    const published = this.#engine.publishedAll().map(([, image]) => image);
    const image = published.find((other) => !(other instanceof EngineError) && manifestDigestOf(other) === digest);
    return image instanceof EngineError ? 0 : (image?.pullMs ?? 0);
  }
}
