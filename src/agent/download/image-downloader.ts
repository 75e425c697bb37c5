import type { Clock } from "../../lib/clock.ts";
import type { FetchBounds } from "../core/fetch-retry.ts";
import type { Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { RegistryAuth, RegistryClient, ResolvedImage } from "../registry/registry.ts";
import type { FetchTrouble } from "./fill-part.ts";
import { LayerFetch } from "./layer-fetch.ts";
import { LOOPBACK_NAME, LoopbackRegistry } from "./loopback-registry.ts";
import type { PartStore } from "./part-store.ts";
import { Throttle } from "./throttle.ts";
import type { TransferProgress } from "./transfer.ts";

export interface DownloadRequest {
  readonly image: ResolvedImage;
  readonly auth: RegistryAuth | undefined;
  /** Bytes to download, where that is known beforehand. */
  readonly expectedBytes?: number | undefined;
  readonly onProgress: (progress: TransferProgress) => void;
  readonly onTrouble: (trouble: FetchTrouble) => void;
  /** Bytes as they come off the link. */
  readonly onReceived: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** Brings images onto the machine over links that break. */
export interface ImageDownloader {
  /**
   * Downloads what the engine lacks of the image, and has the engine take it, under the reference that was asked for.
   * Answers the image's id, and what it took. Rejects with a `DownloadError`, a `RegistryError`, an `EngineError`, or the
   * signal's reason; with `LoopbackUnreachable` where the engine cannot be served by this process.
   */
  download(request: DownloadRequest): Promise<TransferProgress & { readonly imageId: string }>;
}

/** The engine does not find this machine's loopback: it runs in a network of its own, or elsewhere. */
export class LoopbackUnreachable extends Error {
  override readonly name = "LoopbackUnreachable";
}

export interface DownloaderOptions {
  readonly engine: Engine;
  readonly registry: RegistryClient;
  readonly parts: PartStore;
  readonly makeRoom: () => Promise<boolean>;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly bounds: FetchBounds;
  /** Silence that is taken for a dead connection, in milliseconds. */
  readonly stallMs: number;
  /** Bytes per second that downloads may take, all together; `undefined` for no bound. */
  readonly rate: () => number | undefined;
}

/** How often the engine is asked to take an image that is here: it gives up for reasons of its own. */
const MOST_ROUNDS = 3;

export function createImageDownloader(options: DownloaderOptions): ImageDownloader {
  return new LoopbackDownloader(options);
}

class LoopbackDownloader implements ImageDownloader {
  readonly #options: DownloaderOptions;
  readonly #throttle: Throttle;

  constructor(options: DownloaderOptions) {
    this.#options = options;
    this.#throttle = new Throttle(options.clock, options.rate);
  }

  async download(request: DownloadRequest): Promise<TransferProgress & { readonly imageId: string }> {
    const { image } = request;
    const pull = new Pull(request, this.#options, this.#throttle);
    try {
      const imageId = await pull.run();
      return { ...pull.progress, imageId };
    } finally {
      await pull[Symbol.asyncDispose]();
      if (pull.isDone) await this.#options.parts.remove(image.layers.map(({ digest }) => digest));
    }
  }
}

/** One image on its way. */
class Pull implements AsyncDisposable {
  readonly #request: DownloadRequest;
  readonly #options: DownloaderOptions;
  readonly #fetch: LayerFetch;
  /** What the layers failed with: then the engine waits in vain. */
  #failure: { readonly error: unknown } | undefined;
  #round = new AbortController();
  isDone = false;

  constructor(request: DownloadRequest, options: DownloaderOptions, throttle: Throttle) {
    const { image, auth } = request;
    const { clock, random, bounds, stallMs, parts, makeRoom, registry } = options;
    this.#request = request;
    this.#options = options;
    this.#fetch = new LayerFetch({
      fill: { clock, random, bounds, stallMs, throttle },
      parts,
      layers: image.layers,
      expectedBytes: request.expectedBytes,
      open: (layer, offset, signal) => registry.openBlob(image, layer, { offset, auth, signal }),
      makeRoom,
      onReceived: request.onReceived,
      onChange: () => request.onProgress(this.progress),
      onTrouble: request.onTrouble,
      // The engine has some of the wrong bytes.
      onDropped: () => this.#round.abort(new DOMException("wrong bytes", "AbortError")),
      onFailure: (error) => {
        this.#failure ??= { error };
        this.#round.abort(error);
      },
    });
  }

  get progress(): TransferProgress {
    return this.#fetch.transfer.progress;
  }

  /** Answers the image's id. */
  async run(): Promise<string> {
    for (let refusals = 0; ;) {
      const imageId = await this.#offer().catch((error: unknown) => {
        this.#request.signal.throwIfAborted();
        if (this.#failure) throw this.#failure.error;
        // Interrupted because bytes were wrong: nothing the engine did.
        if (this.#round.signal.aborted) return undefined;
        if (!isPassing(error) || ++refusals === MOST_ROUNDS) throw error;
        return undefined;
      });
      if (imageId !== undefined) return imageId;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fetch[Symbol.asyncDispose]();
  }

  /** Has the engine pull the image from here, once. */
  async #offer(): Promise<string> {
    const { engine, clock } = this.#options;
    const { image, signal } = this.#request;
    this.#round = new AbortController();
    const round = AbortSignal.any([signal, this.#round.signal]);
    const part = (digest: string) => this.#fetch.part(digest);
    await using loopback = await LoopbackRegistry.open({ clock, image, part, signal: round });
    try {
      await engine.pullImage(loopback.reference, () => {}, round, {
        isInsecure: true,
        mayBeSilent: () => loopback.isActive,
      });
    } catch (error) {
      round.throwIfAborted();
      if (!(error instanceof EngineError)) throw error;
      if (error.kind === "registry_unreachable" && !loopback.wasReached) {
        throw new LoopbackUnreachable("the engine cannot reach this machine's loopback", { cause: error });
      }
      throw new EngineError(error.kind, loopback.inOwnWords(error.message), { cause: error });
    }
    this.isDone = true;
    return await this.#name(loopback.reference);
  }

  /** Puts the name that was asked for in the place of the one it had here, and of those that crashes left behind. */
  async #name(loopbackReference: string): Promise<string> {
    const { engine } = this.#options;
    const { image, signal } = this.#request;
    const facts = await engine.inspectImage(loopbackReference, signal);
    if (!facts) throw new EngineError("unknown", "the image is not on the machine after the pull");
    await engine.tagImage(facts.id, image.reference, signal);
    const leftovers = facts.repoDigests.filter((name) => LOOPBACK_NAME.test(name));
    for (const name of new Set([loopbackReference, ...leftovers])) await engine.untagImage(name, signal);
    return facts.id;
  }
}

/** Whether the engine may take the image when it is asked once more. */
function isPassing(error: unknown): boolean {
  return error instanceof EngineError && (error.kind === "registry_unreachable" || error.kind === "unknown");
}
