import { errorText } from "../../lib/error-text.ts";
import { LayoutError } from "../../lib/layer-parts/layer-layout.ts";
import type { EngineErrorKind } from "../core/error-kind.ts";
import type { ImageFacts } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { ResolvedImage } from "../registry/registry.ts";
import { withUncompressedLayers } from "./by-parts/engine-manifest.ts";
import { HandedLayers } from "./by-parts/handed-layers.ts";
import type { ImagePlan } from "./by-parts/image-plan.ts";
import type { LayerPlan } from "./by-parts/layer-plan.ts";
import { DownloadError } from "./download-error.ts";
import type { DownloaderOptions } from "./downloader-options.ts";
import { withFreshLayerRefs } from "./layer-refs.ts";
import { LayerFetch } from "./layer-fetch.ts";
import { LOOPBACK_NAME, LoopbackRegistry } from "./loopback-registry.ts";
import { type ImageDownloadRequest, LoopbackUnreachable, type TransferProgress } from "./ports.ts";
import type { RecordedPull } from "./pull-records.ts";
import type { ServedLayer } from "./send-part.ts";
import type { Throttle } from "./throttle.ts";

/** Attempts of the engine to pull from loopback: it may fail for reasons of its own. */
const MAX_ENGINE_PULLS = 3;
/** Attempts to put a layer together, with wrong bytes of the registry fetched again. */
const MAX_REBUILDS = 3;

const TRANSIENT_KINDS: ReadonlySet<EngineErrorKind> = new Set([
  "registry_unreachable",
  "wrong_content",
  "corrupt_layer",
  "unknown",
]);

/** An image that the engine has pulled from loopback. */
interface LoopbackImage {
  readonly reference: string;
  readonly facts: ImageFacts;
}

/** The pull of one image. */
export class ImagePull implements AsyncDisposable {
  readonly #request: ImageDownloadRequest;
  readonly #options: DownloaderOptions;
  readonly #fetch: LayerFetch;
  readonly #plan: ImagePlan | undefined;
  /** By diff id. */
  readonly #rebuilt: Map<string, LayerPlan>;
  readonly #rebuilds = new Map<string, number>();
  readonly #handed: HandedLayers;
  /** Layers that the engine has got uncompressed and does not request again: sizes by diff id. */
  readonly #handedSizes: Map<string, number>;
  /** The error that failed a layer; it aborts the engine's pull. */
  #failure: { readonly error: unknown } | undefined;
  #enginePull = new AbortController();
  readonly #record: RecordedPull;

  /** @param plan owned by the pull */
  constructor(
    request: ImageDownloadRequest,
    options: DownloaderOptions,
    throttle: Throttle,
    plan: ImagePlan | undefined,
  ) {
    const { image, auth } = request;
    const { rules, makeRoom, registry, contents, logger } = options;
    const { parts, pulls } = options.kept;
    this.#record = pulls.begin(image);
    this.#request = request;
    this.#options = options;
    this.#plan = plan;
    this.#rebuilt = new Map([...(plan?.layers.values() ?? [])].map((layer) => [layer.layout.diffId, layer]));
    this.#handed = new HandedLayers(parts.directory);
    const present = new Set(image.diffIds.slice(0, request.byParts?.layersPresent ?? 0));
    this.#handedSizes = new Map([...this.#handed.load()].filter(([diffId]) => present.has(diffId)));
    this.#fetch = new LayerFetch({
      rules: { ...rules, throttle },
      parts,
      layers: image.layers,
      plans: this.#rebuilt,
      expectedBytes: request.expectedBytes,
      source: {
        open: (blob, range, signal) => registry.openBlob(image, blob, { ...range, auth, signal }),
        openImage: (imageId, signal) => {
          if (!contents) throw new Error("nothing is known of the images on the device");
          return contents.open(imageId, request.byParts?.app ?? "", signal);
        },
        onLostImage: (imageId, error) => {
          logger.info({ err: error, image: imageId }, "an image does not have what it had; that is downloaded");
        },
      },
      makeRoom,
      listener: {
        onReceived: request.onReceived,
        onChange: () => request.onProgress(this.progress),
        onInterruption: request.onInterruption,
        // The engine has received some of the wrong bytes.
        onDropped: () => this.#enginePull.abort(new DOMException("wrong bytes", "AbortError")),
        onFailure: (error) => this.#fail(error),
        onUnusableParts: (diffId, error) => this.#onUnusableParts(diffId, error),
      },
    });
  }

  get progress(): TransferProgress {
    return this.#fetch.transfer.progress;
  }

  /** Resolves to the image under its loopback reference. */
  async run(): Promise<ImageFacts> {
    const { signal } = this.#request;
    let hasCorruptLayer = false;
    for (let refusals = 0; ;) {
      try {
        const image = this.#engineImage();
        // Afterwards the engine has the layers and ignores the partial ones under their old refs.
        if (hasCorruptLayer) await this.#pullFromLoopback(withFreshLayerRefs(image));
        const pulled = await this.#pullFromLoopback(image);
        this.#handed.add(new Map([...this.#rebuilt].map(([diffId, { layout }]) => [diffId, layout.size])));
        return await this.#name(pulled, image);
      } catch (error) {
        signal.throwIfAborted();
        if (this.#failure) throw this.#failure.error;
        // Aborted by `onDropped` or `onUnusableParts`, not by the engine.
        if (this.#enginePull.signal.aborted) continue;
        if (!isTransient(error) || ++refusals === MAX_ENGINE_PULLS) throw error;
        hasCorruptLayer ||= error.kind === "corrupt_layer";
      }
    }
  }

  /** Removes the parts, including those left by crashes; their disk space is freed by `finish`. Never rejects. */
  async removeParts(): Promise<void> {
    await this.#cleaning(async () => {
      this.#fetch.removeParts();
      // Ranges are removed once they are closed.
      if (this.#plan) await this.#close();
      await this.#options.kept.parts.remove(this.#request.image.layers.map(({ digest }) => digest));
    });
  }

  /**
   * Closes the parts and removes the names on loopback, including those left by crashes, and the record. Never rejects.
   *
   * @param image as `run` resolved to it
   */
  async finish({ repoDigests }: ImageFacts): Promise<void> {
    const { engine } = this.#options;
    const signal = new AbortController().signal;
    await this.#cleaning(async () => await this.#close());
    await this.#cleaning(async () => {
      const leftovers = repoDigests.filter((name) => LOOPBACK_NAME.test(name));
      for (const name of new Set([...this.#record.names, ...leftovers])) await engine.untagImage(name, signal);
      this.#record.end();
    });
    this.#record[Symbol.dispose]();
  }

  async #cleaning(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.logger.warn(
        { err: error, image: this.#request.image.reference },
        "failed to remove the leftovers of a pull; they take disk space and are removed when they are old enough",
      );
    }
  }

  /** The record of a pull that has failed stays, as its parts do. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    this.#record[Symbol.dispose]();
  }

  async #close(): Promise<void> {
    await this.#fetch[Symbol.asyncDispose]();
    await this.#plan?.[Symbol.asyncDispose]();
  }

  /** The image as the engine is to pull it. */
  #engineImage(): ResolvedImage {
    const rebuilt = [...this.#rebuilt].map(([diffId, { layout }]) => [diffId, layout.size] as const);
    return withUncompressedLayers(this.#request.image, new Map([...this.#handedSizes, ...rebuilt]));
  }

  /**
   * Gives the image the requested name. An engine that names images after their manifests has one under a digest that the
   * registry does not know: it is offered the registry's manifest too, of which it then has all layers.
   */
  async #name(pulled: LoopbackImage, image: ResolvedImage): Promise<ImageFacts> {
    const { engine, logger } = this.#options;
    const { image: original, signal } = this.#request;
    const isOwnManifest = image.digest === original.digest;
    let named = pulled;
    if (!isOwnManifest && pulled.facts.id !== original.config.digest) {
      try {
        named = await this.#pullFromLoopback(original, () => Promise.reject(new Error("the engine has this layer")));
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ err: error }, "the engine does not take the registry's manifest; the image has another digest");
      }
    }
    await engine.tagImage(named.reference, original.reference, signal);
    return named.facts;
  }

  /** Has the engine pull the image from loopback once. */
  async #pullFromLoopback(
    image: ResolvedImage,
    layer: (digest: string) => Promise<ServedLayer> = (digest) => this.#layer(digest),
  ): Promise<LoopbackImage> {
    const { engine, rules } = this.#options;
    const { signal } = this.#request;
    this.#enginePull = new AbortController();
    const round = AbortSignal.any([signal, this.#enginePull.signal]);
    const address = this.#record.takeAddress();
    await using loopback = await LoopbackRegistry.open({ clock: rules.clock, image, layer, signal: round, address });
    this.#record.offer({ name: loopback.reference, address: loopback.address, digest: image.digest });
    try {
      const facts = await engine.pullImage(loopback.reference, () => {}, round, {
        isInsecure: true,
        mayBeSilent: () => loopback.isActive,
      });
      return { reference: loopback.reference, facts };
    } catch (error) {
      round.throwIfAborted();
      if (!(error instanceof EngineError)) throw error;
      if (error.kind === "registry_unreachable" && !loopback.wasReached) {
        throw new LoopbackUnreachable("the engine cannot reach this machine's loopback", { cause: error });
      }
      throw new EngineError(error.kind, loopback.withImageName(error.message), { cause: error });
    }
  }

  async #layer(digest: string): Promise<ServedLayer> {
    if (!this.#handedSizes.delete(digest)) return await this.#fetch.layer(digest);
    // The engine has lost it: it is offered as the registry has it.
    this.#handed.remove(digest);
    const reason = new DOMException("the engine has lost a layer", "AbortError");
    this.#enginePull.abort(reason);
    throw reason;
  }

  /** Tries again to put a layer together after wrong bytes; otherwise it is fetched whole. */
  #onUnusableParts(diffId: string, error: unknown): void {
    if (error instanceof DownloadError) return this.#fail(error);
    const rebuilds = (this.#rebuilds.get(diffId) ?? 0) + 1;
    this.#rebuilds.set(diffId, rebuilds);
    this.#fetch.giveUp(diffId);
    if (!(error instanceof LayoutError) || rebuilds === MAX_REBUILDS) {
      this.#rebuilt.delete(diffId);
      this.#request.byParts?.onWhole(errorText(error));
    }
    this.#enginePull.abort(new DOMException("a layer cannot be put together", "AbortError"));
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#enginePull.abort(error);
  }
}

/** Whether another attempt may succeed. */
function isTransient(error: unknown): error is EngineError {
  return error instanceof EngineError && TRANSIENT_KINDS.has(error.kind);
}
