import type { Logger } from "../../lib/logger.ts";
import type { DeviceContents } from "../contents/device-contents.ts";
import type { Engine } from "../engine/engine.ts";
import type { RegistryClient } from "../registry/registry.ts";
import type { FetchRules } from "./fill-part.ts";
import type { PartStore } from "./part-store.ts";
import type { PullRecords } from "./pull-records.ts";

/** What stays on the disk of downloads, also over a restart. */
export interface KeptDownloads {
  readonly parts: PartStore;
  readonly pulls: PullRecords;
}

/** The rules of all downloads together. */
export interface DownloadRules extends FetchRules {
  /** Bytes per second; `undefined` for no limit. */
  readonly rate: () => number | undefined;
}

export interface DownloaderOptions {
  readonly engine: Engine;
  readonly registry: RegistryClient;
  readonly kept: KeptDownloads;
  /** What the images on the device contain; absent: every layer is downloaded whole. */
  readonly contents?: DeviceContents | undefined;
  /** Frees disk space for downloads; resolves to whether anything was removed. */
  readonly makeRoom: () => Promise<boolean>;
  readonly logger: Logger;
  readonly rules: DownloadRules;
  /** Collects young garbage at once; does nothing where that is not possible. */
  readonly collectYoung: () => void;
}
