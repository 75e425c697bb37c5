import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { DeviceContents } from "../contents/device-contents.ts";
import type { FetchBounds } from "../core/image/fetch-retry.ts";
import type { Engine } from "../engine/engine.ts";
import type { RegistryClient } from "../registry/registry.ts";
import type { PartStore } from "./part-store.ts";
import type { PullRecords } from "./pull-records.ts";

export interface DownloaderOptions {
  readonly engine: Engine;
  readonly registry: RegistryClient;
  readonly parts: PartStore;
  readonly pulls: PullRecords;
  /** What the images on the device contain; absent: every layer is downloaded whole. */
  readonly contents?: DeviceContents | undefined;
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
  /** Collects young garbage at once; does nothing where that is not possible. */
  readonly collectYoung: () => void;
}
