import type { PartsCosts } from "../core/image/pull-cost.ts";
import type { EngineInfo, ImageFacts } from "../engine/engine.ts";
import type { ImagePlan } from "./by-parts/image-plan.ts";
import type { DownloaderOptions } from "./downloader-options.ts";
import { ImagePull } from "./image-pull.ts";
import { KnownIndexes } from "./known-indexes.ts";
import type { DownloadedImage, ImageDownloader, ImageDownloadRequest, PlanPartsRequest } from "./ports.ts";
import type { RegistryClient } from "../registry/registry.ts";
import { Throttle } from "./throttle.ts";
import { YoungGarbage } from "../../lib/young-garbage.ts";

/** A registry that does not send descriptions of layers in this time is not asked for parts, in milliseconds. */
const PLAN_PATIENCE_MS = 30_000;

export function createImageDownloader(options: DownloaderOptions): ImageDownloader {
  return new LoopbackDownloader(options);
}

class LoopbackDownloader implements ImageDownloader {
  readonly #options: DownloaderOptions;
  readonly #throttle: Throttle;
  readonly #garbage: YoungGarbage;
  readonly #indexes: KnownIndexes;
  readonly #cleanups = new Set<Promise<void>>();

  constructor(options: DownloaderOptions) {
    this.#options = options;
    this.#throttle = new Throttle(options.rules.clock, options.rules.rate);
    this.#garbage = new YoungGarbage(options.collectYoung);
    this.#indexes = new KnownIndexes(options.rules.clock);
  }

  async download(wanted: ImageDownloadRequest): Promise<DownloadedImage> {
    const { byParts } = wanted;
    const onReceived = (bytes: number): void => {
      this.#garbage.received(bytes);
      wanted.onReceived(bytes);
    };
    const request = { ...wanted, onReceived };
    const plan = byParts && (await this.#planDownload({ ...request, ...byParts }));
    const pull = new ImagePull(request, this.#options, this.#throttle, plan);
    let image: ImageFacts;
    try {
      image = await pull.run();
    } catch (error) {
      await pull[Symbol.asyncDispose]();
      throw error;
    }
    // Before the deployment goes on: it does not come back to this pull, should the agent be killed.
    await pull.removeParts();
    // In the background: the deployment does not wait for it.
    const cleanup = pull.finish(image).finally(() => this.#cleanups.delete(cleanup));
    this.#cleanups.add(cleanup);
    return { image, progress: pull.progress };
  }

  async planParts(request: PlanPartsRequest): Promise<PartsCosts> {
    const { app } = request;
    await using plan = await this.#plan(request, async (image, ...rest) => {
      const found = await this.#options.registry.findArtifact(image, ...rest);
      this.#indexes.keep(app, image, found);
      return found;
    });
    const costs = [...(plan?.layers ?? [])].map(([digest, { progress, layout }]) => {
      return [digest, { downloadBytes: progress.size, tarBytes: layout.size }] as const;
    });
    return new Map(costs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#cleanups);
  }

  /** Plans with what the registry has answered when the download was priced. */
  async #planDownload(request: PlanPartsRequest): Promise<ImagePlan | undefined> {
    const { registry } = this.#options;
    const known = this.#indexes.take(request.app, request.image);
    if (!known) return await this.#plan(request, (...args) => registry.findArtifact(...args));
    const { found } = known;
    const isDescribed =
      found !== undefined || request.image.layers.some(({ annotations }) => annotations !== undefined);
    return isDescribed ? await this.#plan(request, async () => found && { ...found, receivedBytes: 0 }) : undefined;
  }

  async #plan(request: PlanPartsRequest, findArtifact: RegistryClient["findArtifact"]): Promise<ImagePlan | undefined> {
    const { engine, contents, registry, kept, rules, logger } = this.#options;
    if (!contents) return undefined;
    const { bounds } = rules;
    const fetch = {
      ...rules,
      bounds: { ...bounds, patienceMs: Math.min(bounds.patienceMs, PLAN_PATIENCE_MS) },
      throttle: this.#throttle,
      onReceived: request.onReceived,
      onAppended: () => {},
      onInterruption: () => {},
      signal: request.signal,
    };
    const readsZstd = async (): Promise<boolean> => canReadZstd(await engine.identify(request.signal));
    // Loaded with the first plan only.
    const { planImage } = await import("./by-parts/image-plan.ts");
    const source: Parameters<typeof planImage>[0]["registry"] = {
      findArtifact,
      openBlob: (...args) => registry.openBlob(...args),
    };
    return await planImage({ ...request, registry: source, parts: kept.parts, contents, fetch, readsZstd, logger });
  }
}

/** The first major version of Docker that unpacks layers compressed with zstd. Podman does in all supported versions. */
const FIRST_DOCKER_WITH_ZSTD = 23;

function canReadZstd({ kind, version }: Pick<EngineInfo, "kind" | "version">): boolean {
  return kind !== "docker" || Number.parseInt(version, 10) >= FIRST_DOCKER_WITH_ZSTD;
}
