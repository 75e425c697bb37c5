import { join } from "node:path";
import { pino } from "pino";
import { expect } from "vitest";
import { ContentIndex } from "../../../src/agent/contents/content-index.ts";
import { DeviceContents } from "../../../src/agent/contents/device-contents.ts";
import { ImagesInUse } from "../../../src/agent/contents/images-in-use.ts";
import { computePullCost } from "../../../src/agent/core/image/pull-cost.ts";
import type { DownloaderOptions } from "../../../src/agent/download/downloader-options.ts";
import { createImageDownloader } from "../../../src/agent/download/image-downloader.ts";
import { PartStore } from "../../../src/agent/download/part-store.ts";
import type { FetchInterruption, ImageDownloader, TransferProgress } from "../../../src/agent/download/ports.ts";
import { PullRecords } from "../../../src/agent/download/pull-records.ts";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { Engine } from "../../../src/agent/engine/engine.ts";
import type { ResolvedImage } from "../../../src/agent/registry/registry.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { type Image, removeImage, uniqueName } from "../images.ts";
import { pushIndex, type PushedIndex } from "../images/push-index.ts";
import { Registry } from "../registry.ts";
import { tempDir } from "../temp-dir.ts";
import { plainClient } from "./layer-rig.ts";

export interface PartsDownload {
  readonly image: ResolvedImage;
  readonly result: TransferProgress;
  /** Bytes by which the download was priced before it began, and those that the description of layers took. */
  readonly price: number;
  readonly planned: number;
  readonly interruptions: readonly FetchInterruption[];
  /** Why layers were downloaded whole after all. */
  readonly wholes: readonly string[];
}

const TIMEOUT_MS = 240_000;

/** An engine, a registry, and a downloader that fetches by parts. */
export class PartsRig implements AsyncDisposable {
  readonly registry: Registry;
  readonly engine: Engine;
  readonly socketPath: string;
  /** State directory: downloads and the index of contents. */
  readonly directory: string;
  readonly parts: PartStore;
  readonly pulls: PullRecords;
  readonly inUse = new ImagesInUse();
  /** How often registries were asked for an index. */
  indexLookups = 0;
  readonly repository: string;
  readonly #owned: AsyncDisposableStack;
  downloader: ImageDownloader;

  private constructor(
    { registry, repository, socketPath }: Pick<PartsRig, "registry" | "repository" | "socketPath">,
    directory: string,
    owned: AsyncDisposableStack,
  ) {
    this.registry = registry;
    this.repository = repository;
    this.socketPath = socketPath;
    this.directory = directory;
    this.parts = new PartStore(join(directory, "downloads"));
    this.pulls = new PullRecords(join(directory, "downloads"));
    this.engine = createDockerEngine({ socketPath: () => socketPath, clock: systemClock });
    this.#owned = owned;
    this.downloader = this.newDownloader();
  }

  static async start(socketPath: string): Promise<PartsRig> {
    await using owned = new AsyncDisposableStack();
    const registry = owned.use(await Registry.start());
    const { path } = owned.use(await tempDir());
    const repository = `${uniqueName("team")}/app`;
    return new PartsRig({ registry, repository, socketPath }, path, owned.move());
  }

  /** An agent with a state of its own at the engine and the registry of another one. */
  static async beside(other: PartsRig): Promise<PartsRig> {
    await using owned = new AsyncDisposableStack();
    const { path } = owned.use(await tempDir());
    return new PartsRig(other, path, owned.move());
  }

  /** A downloader as after a restart of the agent. */
  newDownloader(changes: Partial<DownloaderOptions> = {}): ImageDownloader {
    const engine = changes.engine ?? this.engine;
    const logger = pino({ level: "silent" });
    const index = new ContentIndex(join(this.directory, "image-contents"), () => Date.now());
    const client = plainClient();
    return createImageDownloader({
      engine,
      registry: {
        resolve: (...args) => client.resolve(...args),
        headDigest: (...args) => client.headDigest(...args),
        openBlob: (...args) => client.openBlob(...args),
        findArtifact: (...args) => {
          this.indexLookups++;
          return client.findArtifact(...args);
        },
      },
      kept: { parts: this.parts, pulls: this.pulls },
      contents: new DeviceContents({
        engine,
        index,
        inUse: this.inUse,
        stateDir: this.directory,
        clock: systemClock,
        logger,
        collectYoung: () => {},
      }),
      makeRoom: async () => false,
      logger,
      rules: {
        clock: systemClock,
        random: () => 0.5,
        bounds: { patienceMs: 20_000, baseMs: 20, maxMs: 200 },
        stallMs: 5_000,
        rate: () => undefined,
      },
      collectYoung: () => {},
      ...changes,
    });
  }

  /** Pushes an image, and returns its reference. @param host leads to the registry */
  async push(image: Image, tag: string, host: string = this.registry.host): Promise<string> {
    const reference = (await this.registry.push(image, `${this.repository}:${tag}`)).replace(this.registry.host, host);
    this.#owned.defer(() => removeImage(this.socketPath, reference));
    return reference;
  }

  /** Pushes an index beside an image. @param of describes the layers of this image */
  async index(tag: string, of: Image): Promise<PushedIndex> {
    const { digest, manifest, mediaType } = await this.resolve(`${this.registry.host}/${this.repository}:${tag}`);
    return pushIndex(`http://${this.registry.host}`, this.repository, { digest, size: manifest.length, mediaType }, of);
  }

  async resolve(reference: string): Promise<ResolvedImage> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { os, architecture } = await this.engine.info(signal);
    return await plainClient().resolve(reference, { os, architecture }, undefined, signal);
  }

  /** Prices and downloads an image. */
  async download(
    reference: string,
    signal: AbortSignal = AbortSignal.timeout(TIMEOUT_MS),
    onProgress: (progress: TransferProgress) => void = () => {},
  ): Promise<PartsDownload> {
    const image = await this.resolve(reference);
    const chains = (await this.engine.layerChains(signal)).map(({ diffIds }) => diffIds);
    const { layersPresent } = computePullCost(image, chains);
    const request = { image, auth: undefined, app: "app", layersPresent, signal };
    let planned = 0;
    const costs = await this.downloader.planParts({ ...request, onReceived: (bytes) => (planned += bytes) });
    const { downloadBytes: price } = computePullCost(image, chains, costs);
    const interruptions: FetchInterruption[] = [];
    const wholes: string[] = [];
    const { image: pulled, progress: result } = await this.downloader.download({
      ...request,
      expectedBytes: price,
      byParts: { app: "app", layersPresent, onWhole: (reason) => wholes.push(reason) },
      onProgress,
      onInterruption: (interruption) => interruptions.push(interruption),
      onReceived: () => {},
    });
    await this.downloader[Symbol.asyncDispose]();
    expect((await this.engine.inspectImage(reference, signal))?.id).toBe(pulled.id);
    return { image, result, price, planned, interruptions, wholes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
