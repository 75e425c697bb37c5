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
  /** Makes room where downloads are kept; answers whether there is more than before. */
  readonly makeRoom: () => Promise<boolean>;
  readonly onReceived: (bytes: number) => void;
  readonly onChange: () => void;
  readonly onInterruption: (trouble: FetchInterruption) => void;
  readonly onDropped: () => void;
  /** A layer cannot be fetched. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The layers of one pull. A layer is fetched once the engine asks for it, so that nothing is fetched that it has. Holds
 * their parts until disposed; then the fetching stops, and what there is stays on disk.
 */
export class LayerFetch implements AsyncDisposable {
  readonly transfer: Transfer;
  readonly #options: LayerFetchOptions;
  readonly #leases = new AsyncDisposableStack();
  readonly #lanes = new FetchConcurrency();
  readonly #stopped = new AbortController();
  readonly #wanted = new Map<string, Promise<Part>>();
  readonly #jobs: Promise<void>[] = [];

  constructor(options: LayerFetchOptions) {
    this.#options = options;
    this.transfer = new Transfer(options.expectedBytes);
  }

  /** What there is of a layer; the rest is on its way. */
  part(digest: string): Promise<Part> {
    const wanted = this.#wanted.get(digest) ?? this.#begin(digest);
    this.#wanted.set(digest, wanted);
    return wanted;
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
      using _lane = await this.#lanes.acquire(signal);
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
      onInterruption: (trouble) => this.#onInterruption(trouble),
      onDropped,
      signal: this.#stopped.signal,
    });
  }

  #onInterruption(trouble: FetchInterruption): void {
    this.#lanes.reduceToOne();
    if (trouble.kind === "cut") this.transfer.cut();
    this.#options.onInterruption(trouble);
  }

  #updateProgress(part: Part): void {
    this.transfer.layer(part.blob.digest, part.blob.size, part.size);
    this.#options.onChange();
  }
}

/**
 * How many layers of an image are fetched at once. Two as long as all goes well: while one registry's answer is on its
 * way, the other's bytes fill the link. One after the first trouble: two connections lose twice as much in flight when a
 * link is cut, and a layer that is whole early can be unpacked meanwhile.
 */
class FetchConcurrency {
  readonly #two = new Semaphore(2);
  readonly #one = new Semaphore(1);
  #isReduced = false;

  /** Resolves to a lane to dispose of. Rejects with the signal's reason when aborted while waiting. */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    using owned = new DisposableStack();
    owned.use(await this.#two.acquire(signal));
    if (this.#isReduced) owned.use(await this.#one.acquire(signal));
    return owned.move();
  }

  /** From now on one at a time. What goes on is left to end. */
  reduceToOne(): void {
    this.#isReduced = true;
  }
}
