import { Semaphore } from "../../lib/semaphore.ts";
import type { Descriptor, OpenBlob } from "../registry/registry.ts";
import { DownloadError } from "./download-error.ts";
import { fillFromRanges } from "./fill-from-ranges.ts";
import { type FetchOptions, type FetchRules, fillPart } from "./fill-part.ts";
import { fetchRanges, type FetchRangesOptions } from "./fetch-ranges.ts";
import type { FetchSpans } from "./by-parts/check-fetched.ts";
import type { LayerPlan } from "./by-parts/layer-plan.ts";
import type { Part } from "./part.ts";
import type { PartLease, PartStore } from "./part-store.ts";
import type { FetchInterruption } from "./ports.ts";
import { sendPart, type ServedLayer } from "./send-part.ts";
import { Transfer } from "./transfer.ts";

/** Where the bytes of layers come from. */
export interface LayerSource {
  /** Opens a blob; without a length, to its end. */
  readonly open: (blob: Descriptor, range: OpenRange, signal: AbortSignal) => Promise<OpenBlob>;
  /** Opens the files of an image on the device. */
  readonly openImage: (imageId: string, signal: AbortSignal) => AsyncIterable<Uint8Array>;
  /** Called when an image on the device turned out not to have what it should have. */
  readonly onLostImage: (imageId: string, error: unknown) => void;
}

/** Hears how the layers of a pull get on. */
export interface LayerListener {
  readonly onReceived: (bytes: number) => void;
  readonly onChange: () => void;
  readonly onInterruption: (interruption: FetchInterruption) => void;
  readonly onDropped: () => void;
  /** Called when a layer cannot be fetched. */
  readonly onFailure: (error: unknown) => void;
  /** Called when a layer cannot be put together. The engine has received the beginning of it at most. */
  readonly onUnusableParts: (diffId: string, error: unknown) => void;
}

export interface LayerFetchOptions {
  readonly rules: FetchRules & Pick<FetchOptions, "throttle">;
  readonly parts: PartStore;
  readonly layers: readonly Descriptor[];
  /** Layers that are put together from parts, by diff id. */
  readonly plans: ReadonlyMap<string, LayerPlan>;
  readonly expectedBytes: number | undefined;
  readonly source: LayerSource;
  /** Frees disk space for downloads; resolves to whether anything was removed. */
  readonly makeRoom: () => Promise<boolean>;
  readonly listener: LayerListener;
}

interface OpenRange {
  readonly offset: number;
  readonly length?: number;
}

/**
 * Fetches the layers of one pull. A layer is fetched once the engine requests it, so that present layers are not
 * fetched. Leases their parts until disposed; then fetching stops, and the parts stay on disk.
 */
export class LayerFetch implements AsyncDisposable {
  readonly transfer: Transfer;
  readonly #options: LayerFetchOptions;
  readonly #leases = new AsyncDisposableStack();
  readonly #leased: PartLease[] = [];
  readonly #concurrency = new FetchConcurrency();
  readonly #stopped = new AbortController();
  readonly #requested = new Map<string, Promise<ServedLayer>>();
  readonly #jobs: Promise<void>[] = [];

  constructor(options: LayerFetchOptions) {
    this.#options = options;
    this.transfer = new Transfer(options.expectedBytes);
  }

  /** Returns a layer, starting its download at the first call. @param digest or diff id of one that has a plan */
  layer(digest: string): Promise<ServedLayer> {
    const requested = this.#requested.get(digest) ?? this.#begin(digest);
    this.#requested.set(digest, requested);
    return requested;
  }

  /** Forgets the attempt to put a layer together. It may begin again, or be requested whole. */
  giveUp(diffId: string): void {
    this.#requested.delete(diffId);
    this.transfer.giveUp(diffId);
  }

  /** Removes the files of layers that no other pull fetches, before they are closed. */
  removeParts(): void {
    for (const lease of this.#leased) lease.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort(new DOMException("the pull is over", "AbortError"));
    await Promise.all(this.#jobs);
    await this.#leases.disposeAsync();
  }

  async #begin(digest: string): Promise<ServedLayer> {
    const plan = this.#options.plans.get(digest);
    if (plan) return await this.#rebuild(plan);
    const layer = this.#options.layers.find((candidate) => candidate.digest === digest);
    if (!layer) throw new Error("not a layer of the image");
    try {
      const lease = this.#leases.use(await this.#options.parts.lease(layer));
      this.#leased.push(lease);
      const { part } = lease;
      this.#updateProgress(part);
      this.#jobs.push(this.#fetch(layer, part));
      return { send: (range, to, options) => sendPart(part, range, to, options) };
    } catch (error) {
      this.#options.listener.onFailure(error);
      throw error;
    }
  }

  async #rebuild(plan: LayerPlan): Promise<ServedLayer> {
    const { source, listener, parts } = this.#options;
    const { signal } = this.#stopped;
    const { diffId } = plan.layout;
    const update = (): void => {
      const { size, done } = plan.progress;
      this.transfer.layer(diffId, size, done);
      this.#options.listener.onChange();
    };
    const fetch: FetchSpans = async (blob, spans, check) => {
      const options = { ...this.#rangeOptions(blob.descriptor, update), check };
      await this.#makingRoom(() => fetchRanges(blob.part, spans, options));
    };
    update();
    // Loaded with the first one only.
    const { RebuiltLayer } = await import("./by-parts/rebuilt-layer.ts");
    const layer = new RebuiltLayer({
      plan,
      fetch,
      slot: () => this.#concurrency.acquire(signal),
      openImage: (imageId) => source.openImage(imageId, signal),
      directory: parts.directory,
      onLostImage: source.onLostImage,
      onReplanned: update,
      onFailure: (error) => {
        if (!signal.aborted) listener.onUnusableParts(diffId, error);
      },
    });
    return {
      send: (...request) => {
        const sent = layer.send(...request);
        // It reads an image on the device, which leaves nothing behind only once it has ended.
        this.#jobs.push(sent.catch(() => {}));
        return sent;
      },
    };
  }

  /** Never rejects. */
  async #fetch(layer: Descriptor, part: Part): Promise<void> {
    const { signal } = this.#stopped;
    try {
      using _slot = await this.#concurrency.acquire(signal);
      await this.#makingRoom(() => this.#fill(layer, part));
    } catch (error) {
      if (!signal.aborted) this.#options.listener.onFailure(error);
    }
    this.#updateProgress(part);
  }

  /** Fetches, and once more if the disk was full and room was made. */
  async #makingRoom(fetch: () => Promise<void>): Promise<void> {
    await fetch().catch(async (error: unknown) => {
      const isFull = error instanceof DownloadError && error.kind === "no_space";
      if (!isFull || !(await this.#options.makeRoom())) throw error;
      await fetch();
    });
  }

  async #fill(layer: Descriptor, part: Part): Promise<void> {
    const { source, listener, parts } = this.#options;
    const { onDropped } = listener;
    const update = (): void => this.#updateProgress(part);
    if (await fillFromRanges(part, layer, parts, { ...this.#rangeOptions(layer, update), onDropped })) return;
    await fillPart(part, {
      ...this.#fetchOptions(update),
      open: (offset, signal) => source.open(layer, { offset }, signal),
      onDropped,
    });
  }

  #rangeOptions(blob: Descriptor, onAppended: () => void): FetchRangesOptions {
    return { ...this.#fetchOptions(onAppended), open: (span, signal) => this.#options.source.open(blob, span, signal) };
  }

  #fetchOptions(onAppended: () => void): FetchOptions {
    const { rules, listener } = this.#options;
    return {
      ...rules,
      onReceived: (bytes) => {
        this.transfer.received(bytes);
        listener.onReceived(bytes);
      },
      onAppended,
      onInterruption: (interruption) => this.#onInterruption(interruption),
      signal: this.#stopped.signal,
    };
  }

  #onInterruption(interruption: FetchInterruption): void {
    this.#concurrency.reduceToOne();
    if (interruption.kind === "cut") this.transfer.cut();
    this.#options.listener.onInterruption(interruption);
  }

  #updateProgress(part: Part): void {
    this.transfer.layer(part.blob.digest, part.blob.size, part.size);
    this.#options.listener.onChange();
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
