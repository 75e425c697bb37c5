import { Semaphore } from "../../lib/semaphore.ts";
import type { Descriptor, OpenBlob } from "../registry/registry.ts";
import { DownloadError } from "./download-error.ts";
import { fillPart, type FillOptions } from "./fill-part.ts";
import type { Part } from "./part.ts";
import type { PartStore } from "./part-store.ts";
import type { FetchInterruption } from "./ports.ts";
import { Transfer } from "./transfer.ts";

export interface LayerFetchOptions {
  readonly fill: Pick<FillOptions, "clock" | "random" | "bounds" | "stallMs" | "throttle">;
  readonly parts: PartStore;
  readonly layers: readonly Descriptor[];
  readonly expectedBytes: number | undefined;
  readonly open: (layer: Descriptor, offset: number, signal: AbortSignal) => Promise<OpenBlob>;
  /** Frees disk space for downloads; resolves to whether anything was removed. */
  readonly makeRoom: () => Promise<boolean>;
  readonly onReceived: (bytes: number) => void;
  readonly onChange: () => void;
  readonly onInterruption: (interruption: FetchInterruption) => void;
  readonly onDropped: () => void;
  /** Called when a layer cannot be fetched. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Fetches the layers of one pull. A layer is fetched once the engine requests it, so that present layers are not
 * fetched. Leases their parts until disposed; then fetching stops, and the parts stay on disk.
 */
export class LayerFetch implements AsyncDisposable {
  readonly transfer: Transfer;
  readonly #options: LayerFetchOptions;
  readonly #leases = new AsyncDisposableStack();
  readonly #concurrency = new FetchConcurrency();
  readonly #stopped = new AbortController();
  readonly #requested = new Map<string, Promise<Part>>();
  readonly #jobs: Promise<void>[] = [];

  constructor(options: LayerFetchOptions) {
    this.#options = options;
    this.transfer = new Transfer(options.expectedBytes);
  }

  /** Returns the part of a layer, starting its download at the first call. */
  part(digest: string): Promise<Part> {
    const requested = this.#requested.get(digest) ?? this.#begin(digest);
    this.#requested.set(digest, requested);
    return requested;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort(new DOMException("the pull is over", "AbortError"));
    await Promise.all(this.#jobs);
    await this.#leases.disposeAsync();
  }

  async #begin(digest: string): Promise<Part> {
    const layer = this.#options.layers.find((candidate) => candidate.digest === digest);
    if (!layer) throw new Error("not a layer of the image");
    try {
      const { part } = this.#leases.use(await this.#options.parts.lease(layer));
      this.#updateProgress(part);
      this.#jobs.push(this.#fetch(layer, part));
      return part;
    } catch (error) {
      this.#options.onFailure(error);
      throw error;
    }
  }

  /** Never rejects. */
  async #fetch(layer: Descriptor, part: Part): Promise<void> {
    const { signal } = this.#stopped;
    try {
      using _slot = await this.#concurrency.acquire(signal);
      await this.#fill(layer, part).catch(async (error: unknown) => {
        const isFull = error instanceof DownloadError && error.kind === "no_space";
        if (!isFull || !(await this.#options.makeRoom())) throw error;
        await this.#fill(layer, part);
      });
    } catch (error) {
      if (!signal.aborted) this.#options.onFailure(error);
    }
    this.#updateProgress(part);
  }

  #fill(layer: Descriptor, part: Part): Promise<void> {
    const { fill, open, onReceived, onDropped } = this.#options;
    return fillPart(part, {
      ...fill,
      open: (offset, signal) => open(layer, offset, signal),
      onReceived: (bytes) => {
        this.transfer.received(bytes);
        onReceived(bytes);
      },
      onAppended: () => this.#updateProgress(part),
      onInterruption: (interruption) => this.#onInterruption(interruption),
      onDropped,
      signal: this.#stopped.signal,
    });
  }

  #onInterruption(interruption: FetchInterruption): void {
    this.#concurrency.reduceToOne();
    if (interruption.kind === "cut") this.transfer.cut();
    this.#options.onInterruption(interruption);
  }

  #updateProgress(part: Part): void {
    this.transfer.layer(part.blob.digest, part.blob.size, part.size);
    this.#options.onChange();
  }
}

/**
 * Limits how many layers of an image are fetched at once. Two at first: while one request waits for its response, the
 * other fills the link. One after the first interruption: two connections lose twice as much in flight when a link is
 * cut, and a layer that completes early can be unpacked meanwhile.
 */
class FetchConcurrency {
  readonly #two = new Semaphore(2);
  readonly #one = new Semaphore(1);
  #isReduced = false;

  /** Resolves to a slot; dispose it to release. Rejects with the signal's reason when aborted while waiting. */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    using owned = new DisposableStack();
    owned.use(await this.#two.acquire(signal));
    if (this.#isReduced) owned.use(await this.#one.acquire(signal));
    return owned.move();
  }

  /** Fetches one layer at a time from now on. Running fetches continue. */
  reduceToOne(): void {
    this.#isReduced = true;
  }
}
