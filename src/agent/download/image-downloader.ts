import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { FetchBounds } from "../core/image/fetch-retry.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineErrorKind } from "../core/error-kind.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { RegistryClient, ResolvedImage } from "../registry/registry.ts";
import { withFreshLayerRefs } from "./layer-refs.ts";
import { LayerFetch } from "./layer-fetch.ts";
import { LOOPBACK_NAME, LoopbackRegistry } from "./loopback-registry.ts";
import type { PartStore } from "./part-store.ts";
import {
  type ImageDownloader,
  type ImageDownloadRequest,
  LoopbackUnreachable,
  type TransferProgress,
} from "./ports.ts";
import { Throttle } from "./throttle.ts";

export interface DownloaderOptions {
  readonly engine: Engine;
  readonly registry: RegistryClient;
  readonly parts: PartStore;
  /** Frees disk space for downloads; resolves to whether anything was removed. */
  readonly makeRoom: () => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1). */
  readonly random: () => number;
  readonly bounds: FetchBounds;
  /** A connection that delivers nothing for this time is considered dead, in milliseconds. */
  readonly stallMs: number;
  /** Bytes per second for all downloads together; `undefined` for no limit. */
  readonly rate: () => number | undefined;
}

/** Attempts of the engine to pull from loopback: it may fail for reasons of its own. */
const MAX_ENGINE_PULLS = 3;

const TRANSIENT_KINDS: ReadonlySet<EngineErrorKind> = new Set(["registry_unreachable", "corrupt_layer", "unknown"]);

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
    // In the background: the deployment does not wait for it.
    const cleanup = pull.cleanUp().finally(() => this.#cleanups.delete(cleanup));
    this.#cleanups.add(cleanup);
    return pull.progress;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#cleanups);
  }
}

/** The pull of one image. */
class Pull implements AsyncDisposable {
  readonly #request: ImageDownloadRequest;
  readonly #options: DownloaderOptions;
  readonly #fetch: LayerFetch;
  /** The error that failed a layer; it aborts the engine's pull. */
  #failure: { readonly error: unknown } | undefined;
  #enginePull = new AbortController();
  /** Loopback references the image was pulled by. */
  readonly #loopbackReferences: string[] = [];

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
      // The engine has received some of the wrong bytes.
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
    let hasCorruptLayer = false;
    for (let refusals = 0; ;) {
      try {
        // Afterwards the engine has the layers and ignores the partial ones under their old refs.
        if (hasCorruptLayer) await this.#pullFromLoopback(withFreshLayerRefs(image));
        return await this.#pullFromLoopback(image, image.reference);
      } catch (error) {
        signal.throwIfAborted();
        if (this.#failure) throw this.#failure.error;
        // Aborted by `onDropped`, not by the engine.
        if (this.#enginePull.signal.aborted) continue;
        if (!isTransient(error) || ++refusals === MAX_ENGINE_PULLS) throw error;
        hasCorruptLayer ||= error.kind === "corrupt_layer";
      }
    }
  }

  /** Removes the parts and the loopback references, including those left by crashes. Never rejects. */
  async cleanUp(): Promise<void> {
    const { engine, parts, logger } = this.#options;
    const { image } = this.#request;
    const signal = new AbortController().signal;
    try {
      await this[Symbol.asyncDispose]();
      await parts.remove(image.layers.map(({ digest }) => digest));
      const { repoDigests = [] } = (await engine.inspectImage(image.reference, signal)) ?? {};
      const leftovers = repoDigests.filter((name) => LOOPBACK_NAME.test(name));
      for (const name of new Set([...this.#loopbackReferences, ...leftovers])) await engine.untagImage(name, signal);
    } catch (error) {
      logger.warn(
        { err: error, image: image.reference },
        "failed to remove the leftovers of a pull; they take disk space and are removed when they are old enough",
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#fetch[Symbol.asyncDispose]();
  }

  /** Has the engine pull the image from loopback once, and tags it as `name`. */
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
      this.#loopbackReferences.push(loopback.reference);
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

/** Whether another attempt may succeed. */
function isTransient(error: unknown): error is EngineError {
  return error instanceof EngineError && TRANSIENT_KINDS.has(error.kind);
}
