import type { DataPolicy } from "../core/traffic/data-budget.ts";
import type { KeepaliveBounds } from "../core/link/keepalive-learning.ts";
import { parseTimeWindow } from "../core/traffic/time-window.ts";
import { join } from "node:path";
import type { FetchBounds } from "../core/image/fetch-retry.ts";
import type { SweepBounds } from "../core/image/part-sweep.ts";
import type { LinkConfig } from "../link/ports.ts";
import type { DeployConfig } from "../steps/context.ts";
import { listProtectedPaths } from "./protected-paths.ts";
import type { Config } from "./load.ts";

const RECONNECT_BASE_MS = 1_000;
/** Pauses between tries to go on with a download that bring nothing. */
const FETCH_RETRY = { baseMs: 1_000, maxMs: 60_000 };
const DAY_MS = 86_400_000;
/** How long a partial download waits for the deployment that goes on with it. */
const MIN_PART_AGE_MS = 3_600_000;

/** What the link takes from the configuration. */
export function toLinkConfig(config: Config): LinkConfig {
  const { link } = config;
  return {
    url: config.control_plane_url,
    token: config.token,
    extraCa: config.extraCa,
    keepaliveMs: link.keepalive_s * 1000,
    pongTimeoutMs: link.pong_timeout_s * 1000,
    backoff: { baseMs: RECONNECT_BASE_MS, maxMs: link.reconnect_max_s * 1000 },
  };
}

/** Of a data budget, what connecting again and again may take. */
const RECONNECT_SHARE = 0.05;

/** Where there is no budget, on networks that cost: some hundred connections a day. */
const RECONNECT_BYTES_PER_DAY = 2_000_000;

/** Bytes a day that may be spent on connecting to the control plane where it costs. */
export function reconnectBudgetBytesPerDay({ dailyBytes, monthlyBytes }: DataPolicy): number {
  const budgets = [dailyBytes, monthlyBytes === undefined ? undefined : monthlyBytes / 30].filter(
    (b) => b !== undefined,
  );
  return Math.min(RECONNECT_BYTES_PER_DAY, ...budgets.map((bytes) => bytes * RECONNECT_SHARE));
}

/** How long the link may be silent, as far as the configuration says it. */
export function toKeepaliveBounds({ link }: Config): KeepaliveBounds {
  return {
    startMs: link.keepalive_s * 1000,
    minMs: Math.min(link.keepalive_s, link.keepalive_min_s) * 1000,
    maxMs: Math.max(link.keepalive_s, link.keepalive_max_s) * 1000,
  };
}

/** What the configuration allows on networks that cost. */
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

/** What the deployment steps take from the configuration. */
export function toDeployConfig(config: Config): DeployConfig {
  const { deploy, container_logs: logs } = config;
  return {
    settleMs: deploy.settle_window_s * 1000,
    healthTimeoutMs: deploy.health_timeout_s * 1000,
    pullAttempts: deploy.pull_attempts,
    pullBy: deploy.pull,
    enginePatienceMs: deploy.engine_patience_s * 1000,
    stopGraceMs: deploy.stop_grace_s * 1000,
    maxDownloadBytes: deploy.max_download_bytes,
    diskReserveBytes: deploy.disk_reserve_bytes,
    stateDir: config.state_dir,
    containerLog: { maxBytes: logs.max_bytes, maxFiles: logs.max_files },
    policy: config.policy,
    protectedPaths: listProtectedPaths(config),
  };
}

/** What downloads take from the configuration. Durations in milliseconds, sizes in bytes. */
export interface DownloadConfig {
  readonly directory: string;
  readonly bounds: FetchBounds;
  /** Silence that is taken for a dead connection. */
  readonly stallMs: number;
  readonly sweep: SweepBounds;
}

export function toDownloadConfig({ deploy, state_dir: stateDir }: Config): DownloadConfig {
  return {
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
