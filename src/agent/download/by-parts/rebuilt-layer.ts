import type { Writable } from "node:stream";
import { errorText } from "../../../lib/error-text.ts";
import { LayoutError, type PlacedBytes } from "../../../lib/layer-parts/layer-layout.ts";
import type { PartSource } from "../../../lib/layer-parts/part-source.ts";
import { rebuildLayer } from "../../../lib/layer-parts/rebuild.ts";
import { Semaphore } from "../../../lib/semaphore.ts";
import { PartsUnusable } from "../download-error.ts";
import type { ByteRange } from "../range.ts";
import type { SendOptions, ServedLayer } from "../send-part.ts";
import { sendPieces } from "../send-part.ts";
import { discardWrong, fetchPlanned, type FetchSpans, isIntact } from "./check-fetched.ts";
import type { LayerPlan } from "./layer-plan.ts";
import type { OpenContents } from "./open-contents.ts";

export interface RebuiltLayerOptions {
  readonly plan: LayerPlan;
  readonly fetch: FetchSpans;
  /** Waits until another layer may be fetched; dispose it to let the next one in. */
  readonly slot: () => Promise<Disposable>;
  /** Opens the files of an image on the device. */
  readonly openImage: (imageId: string) => AsyncIterable<Uint8Array>;
  /** For contents that wait until they are used. */
  readonly directory: string;
  /** Called when an image turned out not to have what it should have; what it lacks is fetched. */
  readonly onLostImage: (imageId: string, error: unknown) => void;
  /** Called when more is fetched than was planned. */
  readonly onReplanned: () => void;
  /** Called when the layer cannot be sent. The receiver has got the beginning of it at most. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * A layer that is put together while the engine receives it, uncompressed. Nothing of it is stored: if the engine asks again,
 * it is put together again.
 */
export class RebuiltLayer implements ServedLayer {
  readonly #options: RebuiltLayerOptions;
  readonly #sending = new Semaphore(1);
  #fetched: Promise<void> | undefined;
  /** The last place that was read of a blob. */
  #lastPlace: PlacedBytes | undefined;

  constructor(options: RebuiltLayerOptions) {
    this.#options = options;
  }

  async send(range: ByteRange, to: Writable, options: SendOptions): Promise<void> {
    const gone = new AbortController();
    const onGone = (): void => gone.abort();
    to.once("close", onGone);
    to.on("error", onGone);
    const isGone = AbortSignal.any([gone.signal, options.signal]);
    if (to.destroyed) onGone();
    options.onWait(1);
    try {
      using _lock = await this.#sending.acquire(isGone);
      this.#fetched ??= this.#fetchPlanned();
      await this.#fetched;
      await this.#pass(range, to, options, isGone);
      if (!isGone.aborted) to.end();
    } catch (error) {
      // The connection stays open until the pull is aborted: the engine would try the layer again by itself, with pauses.
      if (!isGone.aborted) await this.#fail(error);
    } finally {
      options.onWait(-1);
    }
  }

  async #fetchPlanned(): Promise<void> {
    const { plan, fetch, slot } = this.#options;
    using _slot = await slot();
    await fetchPlanned(plan, fetch);
  }

  /** Sends the range of one passage through the layer. */
  async #pass({ start, end }: ByteRange, to: Writable, { onSent }: SendOptions, isGone: AbortSignal): Promise<void> {
    const { plan, openImage, directory, onLostImage } = this.#options;
    await using held = plan.held.open(openImage, directory, onLostImage);
    let at = 0;
    for await (const block of rebuildLayer(plan.layout, this.#source(held))) {
      if (isGone.aborted) return;
      const piece = block.subarray(Math.max(0, start - at), Math.max(0, end - at));
      at += block.length;
      if (piece.length > 0) await sendPieces(to, [piece]).then(onSent);
      if (at >= end) return;
    }
  }

  #source(held: OpenContents): PartSource {
    return {
      held: (part, isReadOnce) => held.read(part, isReadOnce),
      heldWhole: (part) => held.readWhole(part),
      fetched: (place) => this.#readFetched(place),
    };
  }

  async *#readFetched(place: PlacedBytes): AsyncGenerator<Uint8Array> {
    const { plan, fetch, onReplanned } = this.#options;
    const { part } = plan.blob(place.blob);
    if (!part.has(place)) {
      // What the device was to have is fetched too, all of it at once.
      plan.replan();
      onReplanned();
      await fetchPlanned(plan, fetch);
      await fetch(plan.blob(place.blob), [place]);
    }
    this.#lastPlace = place;
    yield* part.read(place);
  }

  /** Discards bytes that are wrong on disk, so that the next passage fetches them again. */
  async #fail(error: unknown): Promise<void> {
    const { onFailure } = this.#options;
    try {
      if (error instanceof LayoutError) await this.#discardWrong(errorText(error));
      onFailure(error);
    } catch (reason) {
      onFailure(reason);
    }
  }

  /** Rejects with `PartsUnusable` if another passage would be no better. */
  async #discardWrong(reason: string): Promise<void> {
    const { plan } = this.#options;
    for (const place of [this.#lastPlace, plan.layout.headers]) {
      if (!place || (await isIntact(plan.blob(place.blob).part, place))) continue;
      return await discardWrong(plan, place, reason);
    }
    throw new PartsUnusable(reason);
  }
}
