import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { FetchBounds } from "../core/image/fetch-retry.ts";
import type { Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { RegistryAuth } from "../core/image/registry-auth.ts";
import type { RegistryClient, ResolvedImage } from "../registry/registry.ts";
import type { FetchInterruption } from "./fill-part.ts";
import { withOtherLayerNames } from "./layer-names.ts";
import { LayerFetch } from "./layer-fetch.ts";
import { LOOPBACK_NAME, LoopbackRegistry } from "./loopback-registry.ts";
import type { PartStore } from "./part-store.ts";
import { Throttle } from "./throttle.ts";
import type { TransferProgress } from "./transfer.ts";

export interface ImageDownloadRequest {
  readonly image: ResolvedImage;
  readonly auth: RegistryAuth | undefined;
  /** Bytes to download, where that is known beforehand. */
  readonly expectedBytes?: number | undefined;
  readonly onProgress: (progress: TransferProgress) => void;
  readonly onInterruption: (trouble: FetchInterruption) => void;
  /** Bytes as they come off the link. */
  readonly onReceived: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** Brings images onto the machine over links that break. Disposing it waits for what it still has to tidy up. */
export interface ImageDownloader extends AsyncDisposable {
  /**
   * Downloads what the engine lacks of the image, and has the engine take it, under the reference that was asked for.
   * Answers what it took. Rejects with a `DownloadError`, a `RegistryError`, an `EngineError`, or the signal's reason;
   * with `LoopbackUnreachable` where the engine cannot be served by this process.
   */
  download(request: ImageDownloadRequest): Promise<TransferProgress>;
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
  readonly logger: Logger;
  /** In [0, 1). */
  readonly random: () => number;
  readonly bounds: FetchBounds;
  /** Silence that is taken for a dead connection, in milliseconds. */
  readonly stallMs: number;
  /** Bytes per second that downloads may take, all together; `undefined` for no bound. */
  readonly rate: () => number | undefined;
}

/** How often the engine is asked to take an image that is here: it gives up for reasons of its own. */
const MAX_ENGINE_PULLS = 3;
/** What containerd says of a layer it was to go on with, and whose beginning was wrong. */
const CORRUPT_LAYER = /failed commit on ref|unexpected commit (?:digest|size)/;

export function createImageDownloader(options: DownloaderOptions): ImageDownloader {
  return new LoopbackDownloader(options);
}

class LoopbackDownloader implements ImageDownloader {
  readonly #options: DownloaderOptions;
  readonly #throttle: Throttle;
  readonly #cleanups = new Set<Promise<void>>();

  constructor(options: DownloaderOptions) {
    this.#options = options;
    this.#throttle = new Throttle(options.clock, options.rate);
  }

  async download(request: ImageDownloadRequest): Promise<TransferProgress> {
    const pull = new Pull(request, this.#options, this.#throttle);
    try {
      await pull.run();
    } catch (error) {
      await pull[Symbol.asyncDispose]();
      throw error;
    }
    // The app need not wait for that.
    const tidied = pull.cleanUp().finally(() => this.#cleanups.delete(tidied));
    this.#cleanups.add(tidied);
    return pull.progress;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#cleanups);
  }
}

/** One image on its way. */
class Pull implements AsyncDisposable {
  readonly #request: ImageDownloadRequest;
  readonly #options: DownloaderOptions;
  readonly #fetch: LayerFetch;
  /** What the layers failed with: then the engine waits in vain. */
  #failure: { readonly error: unknown } | undefined;
  #enginePull = new AbortController();
  /** Names on loopback that the image got. */
  readonly #names: string[] = [];

  constructor(request: ImageDownloadRequest, options: DownloaderOptions, throttle: Throttle) {
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
      onInterruption: request.onInterruption,
      // The engine has some of the wrong bytes.
      onDropped: () => this.#enginePull.abort(new DOMException("wrong bytes", "AbortError")),
      onFailure: (error) => {
        this.#failure ??= { error };
        this.#enginePull.abort(error);
      },
    });
  }

  get progress(): TransferProgress {
    return this.#fetch.transfer.progress;
  }

  async run(): Promise<void> {
    const { image, signal } = this.#request;
    let isSpoilt = false;
    for (let refusals = 0; ;) {
      try {
        // Afterwards the engine has the layers, and does not look at what it has of them by their old names.
        if (isSpoilt) await this.#pullFromLoopback(withOtherLayerNames(image));
        return await this.#pullFromLoopback(image, image.reference);
      } catch (error) {
        signal.throwIfAborted();
        if (this.#failure) throw this.#failure.error;
        // Interrupted because bytes were wrong: nothing the engine did.
        if (this.#enginePull.signal.aborted) continue;
        if (!isTransient(error) || ++refusals === MAX_ENGINE_PULLS) throw error;
        isSpoilt ||= error instanceof EngineError && CORRUPT_LAYER.test(error.message);
      }
    }
  }

  /** Takes away what the pull needed: names on loopback, also those that crashes left behind, and the parts. Never rejects. */
  async cleanUp(): Promise<void> {
    const { engine, parts, logger } = this.#options;
    const { image } = this.#request;
    const signal = new AbortController().signal;
    try {
      await this[Symbol.asyncDispose]();
      await parts.remove(image.layers.map(({ digest }) => digest));
      const { repoDigests = [] } = (await engine.inspectImage(image.reference, signal)) ?? {};
      const leftovers = repoDigests.filter((name) => LOOPBACK_NAME.test(name));
      for (const name of new Set([...this.#names, ...leftovers])) await engine.untagImage(name, signal);
    } catch (error) {
      logger.warn(
        { err: error, image: image.reference },
        "what was left of a pull could not be removed and takes space; it is removed when it is old enough",
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fetch[Symbol.asyncDispose]();
  }

  /** Has the engine pull the image from here, once, and gives it its name. */
  async #pullFromLoopback(image: ResolvedImage, name?: string): Promise<void> {
    const { engine, clock, parts } = this.#options;
    const { directory } = parts;
    const { signal } = this.#request;
    this.#enginePull = new AbortController();
    const round = AbortSignal.any([signal, this.#enginePull.signal]);
    const part = (digest: string) => this.#fetch.part(digest);
    await using loopback = await LoopbackRegistry.open({ clock, image, part, signal: round, directory });
    try {
      await engine.pullImage(loopback.reference, () => {}, round, {
        isInsecure: true,
        mayBeSilent: () => loopback.isActive,
      });
      this.#names.push(loopback.reference);
      if (name !== undefined) await engine.tagImage(loopback.reference, name, signal);
    } catch (error) {
      round.throwIfAborted();
      if (!(error instanceof EngineError)) throw error;
      if (error.kind === "registry_unreachable" && !loopback.wasReached) {
        throw new LoopbackUnreachable("the engine cannot reach this machine's loopback", { cause: error });
      }
      throw new EngineError(error.kind, loopback.withImageName(error.message), { cause: error });
    }
  }
}

/** Whether the engine may take the image when it is asked once more. */
function isTransient(error: unknown): boolean {
  return error instanceof EngineError && (error.kind === "registry_unreachable" || error.kind === "unknown");
}
