import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { ContentIndex } from "../contents/content-index.ts";
import { DeviceContents } from "../contents/device-contents.ts";
import { imagesNeeded } from "../core/image/images-needed.ts";
import { ImagesInUse } from "../contents/images-in-use.ts";
import { BlobDownloader } from "../download/blob-download.ts";
import { createImageDownloader } from "../download/image-downloader.ts";
import type { Config } from "../config/load.ts";
import { FileFetcher, type FileFetcherOptions } from "../files/fetcher.ts";
import type { DownloadConfig } from "./settings.ts";
import { PartStore } from "../download/part-store.ts";
import type { ImageDownloader } from "../download/ports.ts";
import { PullRecords } from "../download/pull-records.ts";
import { PartSweeper } from "../download/sweeper.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import type { PullGate } from "../ledger/pull-gate.ts";
import type { StoreReader } from "../store/store.ts";
import type { CrashGuard } from "../store/crash-guard.ts";
import type { RegistryClient } from "../registry/registry.ts";

export interface DownloadServices {
  readonly config: DownloadConfig;
  readonly engine: Engine;
  readonly registry: RegistryClient;
  /** Where releases of the agent are. */
  readonly releaseRegistry: Pick<RegistryClient, "openBlob">;
  readonly host: Host;
  readonly gate: PullGate;
  readonly crashGuard: Pick<CrashGuard, "run">;
  readonly store: Pick<StoreReader, "deployments">;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export interface Downloads {
  readonly downloader: ImageDownloader;
  /** Downloads parts of releases of the agent. */
  readonly blobs: BlobDownloader;
  /** Downloads contents of files: over connections that are counted as those of images are. */
  readonly uploads: BlobDownloader;
  /** Removes old partial downloads. */
  readonly sweeper: PartSweeper;
  readonly imagesInUse: ImagesInUse;
}

/** Creates the image downloader and what belongs to it. */
export function createDownloads(services: DownloadServices): Downloads {
  const { config, engine, registry, releaseRegistry, host, gate, crashGuard, store, clock, random, logger } = services;
  const kept = { parts: new PartStore(config.directory), pulls: new PullRecords(config.directory) };
  const freeBytes = (path: string): Promise<number | undefined> => host.freeBytes(path);
  const attempt = (work: () => Promise<void>, signal: AbortSignal) =>
    crashGuard.run("removal of old downloads", work, signal);
  const pending = (): ReadonlySet<string> => imagesNeeded([], store.deployments()).references;
  const pendingBlobs = (): ReadonlySet<string> =>
    new Set(store.deployments().flatMap(({ fetches = [] }) => fetches.map(({ upload }) => `sha256:${upload.sha256}`)));
  const sweeping = { bounds: config.sweep, pending, pendingBlobs, freeBytes, attempt };
  const sweeper = new PartSweeper({ engine, kept, ...sweeping, clock, logger });
  const imagesInUse = new ImagesInUse();
  const index = new ContentIndex(config.contentsDirectory, () => clock.now());
  const fetching = {
    registry,
    makeRoom: () => sweeper.makeRoom(),
    rules: { clock, random, bounds: config.bounds, stallMs: config.stallMs, rate: () => gate.rate() },
  };
  const downloader = createImageDownloader({
    ...fetching,
    engine,
    kept,
    contents: new DeviceContents({
      engine,
      index,
      inUse: imagesInUse,
      stateDir: config.stateDir,
      clock,
      logger,
      collectYoung,
    }),
    logger,
    collectYoung,
  });
  const blobs = new BlobDownloader({ ...fetching, registry: releaseRegistry, parts: kept.parts });
  const uploads = new BlobDownloader({ ...fetching, parts: kept.parts });
  return { downloader, blobs, uploads, sweeper, imagesInUse };
}

type FetchingServices = Pick<FileFetcherOptions, "store" | "gate" | "ledger" | "pullSlots" | "clock" | "logger"> & {
  readonly host: Pick<Host, "freeBytes">;
};

/** Creates what fetches contents of files: from the address that the device connects to, with the device's token. */
export function createFileFetcher(
  { control_plane_url: url, token, state_dir: stateDir, deploy }: Config,
  { services, uploads }: Pick<Downloads, "uploads"> & { readonly services: FetchingServices },
): FileFetcher {
  return new FileFetcher({
    ...services,
    blobs: uploads,
    locate: () => ({ registry: new URL(url).host, repository: "uploads", auth: { kind: "token", token } }),
    maxDownloadBytes: deploy.max_download_bytes,
    stateDir,
    freeBytes: (path) => services.host.freeBytes(path),
  });
}

/** Does nothing without Node.js's option `--expose-gc`. */
function collectYoung(): void {
  globalThis.gc?.({ type: "minor", execution: "sync" });
}
