import type { DataPolicy } from "../core/traffic/data-budget.ts";
import type { KeepaliveBounds } from "../core/link/keepalive-learning.ts";
import { parseTimeWindow } from "../core/traffic/time-window.ts";
import { join } from "node:path";
import type { FetchBounds } from "../core/image/fetch-retry.ts";
import type { SweepBounds } from "../core/image/part-sweep.ts";
import type { ImageConfig } from "../images/ports.ts";
import type { ReportingConfig } from "../live/reporting.ts";
import type { DeployConfig } from "../steps/context.ts";
import { listProtectedPaths } from "../config/protected-paths.ts";
import type { Config } from "../config/load.ts";

/** Delays between attempts to continue a download that bring no bytes. */
const FETCH_RETRY = { baseMs: 1_000, maxMs: 60_000 };
const DAY_MS = 86_400_000;
/** A younger partial download is never removed: its deployment may continue it. */
const MIN_PART_AGE_MS = 3_600_000;

/** Share of a data budget that reconnecting may use. */
const RECONNECT_SHARE = 0.05;

/** Reconnect budget on metered networks without a data budget: some hundred connections a day. */
const RECONNECT_BYTES_PER_DAY = 2_000_000;

/** Returns the bytes per day that connecting to the control plane may use on metered networks. */
export function reconnectBudgetBytesPerDay({ dailyBytes, monthlyBytes }: DataPolicy): number {
  const budgets = [dailyBytes, monthlyBytes === undefined ? undefined : monthlyBytes / 30].filter(
    (b) => b !== undefined,
  );
  return Math.min(RECONNECT_BYTES_PER_DAY, ...budgets.map((bytes) => bytes * RECONNECT_SHARE));
}

/** Returns the configured bounds of the keep-alive interval. */
export function toKeepaliveBounds({ link }: Config): KeepaliveBounds {
  return {
    startMs: link.keepalive_s * 1000,
    minMs: Math.min(link.keepalive_s, link.keepalive_min_s) * 1000,
    maxMs: Math.max(link.keepalive_s, link.keepalive_max_s) * 1000,
  };
}

/** Returns the policy for metered networks. */
export function toDataPolicy({ data }: Config): DataPolicy {
  return {
    metered: data.metered,
    dailyBytes: data.daily_bytes,
    monthlyBytes: data.monthly_bytes,
    bytesPerSecond: data.rate_limit_bytes_per_s,
    hours: data.hours.flatMap((text) => parseTimeWindow(text) ?? []),
    timeZone: data.timezone,
  };
}

/** Returns the part of the configuration that the deployment steps use. */
export function toDeployConfig(config: Config): DeployConfig {
  const { deploy, container_logs: logs } = config;
  return {
    settleMs: deploy.settle_window_s * 1000,
    healthTimeoutMs: deploy.health_timeout_s * 1000,
    enginePatienceMs: deploy.engine_patience_s * 1000,
    stopGraceMs: deploy.stop_grace_s * 1000,
    diskReserveBytes: deploy.disk_reserve_bytes,
    maxDownloadBytes: deploy.max_download_bytes,
    stateDir: config.state_dir,
    networkSubnets: config.networks.subnets,
    containerLog: { maxBytes: logs.max_bytes, maxFiles: logs.max_files },
    policy: config.policy,
    protectedPaths: listProtectedPaths(config),
  };
}

/** The part of the configuration that image pulls use. */
export function toImageConfig({ deploy, policy }: Config): ImageConfig {
  return {
    pullAttempts: deploy.pull_attempts,
    pullBy: deploy.pull,
    maxImageBytes: policy.max_image_bytes,
    maxDownloadBytes: deploy.max_download_bytes,
    diskReserveBytes: deploy.disk_reserve_bytes,
  };
}

/** The part of the configuration that reports and queries use. */
export function toReportingConfig({ state_dir: stateDir, telemetry }: Config): ReportingConfig {
  return {
    stateDir,
    logLimits: { bytesPerSecond: telemetry.logs_max_bytes_per_s, totalBytes: telemetry.logs_max_bytes },
    reportsPerHour: telemetry.reports_max_per_hour,
  };
}

/** The part of the configuration that downloads use. Durations in milliseconds, sizes in bytes. */
export interface DownloadConfig {
  readonly stateDir: string;
  /** For the index of what the images on the device contain. */
  readonly contentsDirectory: string;
  readonly directory: string;
  readonly bounds: FetchBounds;
  /** A connection without data for this long is considered dead. */
  readonly stallMs: number;
  readonly sweep: SweepBounds;
}

export function toDownloadConfig({ deploy, state_dir: stateDir }: Config): DownloadConfig {
  return {
    stateDir,
    contentsDirectory: join(stateDir, "image-contents"),
    directory: deploy.download_dir ?? join(stateDir, "downloads"),
    bounds: { patienceMs: deploy.pull_patience_s * 1000, ...FETCH_RETRY },
    stallMs: deploy.pull_stall_s * 1000,
    sweep: {
      keepMs: deploy.keep_downloads_days * DAY_MS,
      reserveBytes: deploy.disk_reserve_bytes,
      minAgeMs: MIN_PART_AGE_MS,
    },
  };
}
