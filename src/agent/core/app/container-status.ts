/** State of a container. Each engine's own names are mapped to these. */
export type ContainerStatus = (typeof CONTAINER_STATUSES)[number];

const CONTAINER_STATUSES = [
  "created",
  "running",
  "paused",
  "restarting",
  "removing",
  "exited",
  "dead",
  "unknown",
] as const;

/** Reads a status from the local API; a daemon of another version may use a status this one does not know. */
export function parseContainerStatus(text: string): ContainerStatus {
  return CONTAINER_STATUSES.find((status) => status === text) ?? "unknown";
}

/** Result of a container's health check; `none` if it has no check. */
export type HealthStatus = "none" | "starting" | "healthy" | "unhealthy";

/** Times of a container's health check, in milliseconds, as the engine applies them. */
export interface HealthcheckTimes {
  /** Failures during this time after the start do not count. */
  readonly startPeriodMs: number;
  /** Between two runs. */
  readonly intervalMs: number;
  /** Of one run. */
  readonly timeoutMs: number;
  /** Consecutive failures after which the container is unhealthy. */
  readonly retries: number;
}

/** A container's state and how its runs went, as the engine reports them. */
export interface ContainerSnapshot {
  readonly status: ContainerStatus;
  /** Number of restarts by the restart policy. Docker counts one when a run has ended, before the next one starts. */
  readonly restartCount: number;
  /** How many restarts its policy allows after failures; absent if it sets no limit. */
  readonly maxRestarts?: number | undefined;
  /** Exit code of the last run; 0 while a run is going on, whatever the run before ended with. */
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** Start of the current or last run, as the engine writes it. Changes with every restart. */
  readonly startedAt: string;
  /** End of the last run, as the engine writes it; in the year 1 before the first run ends. */
  readonly finishedAt: string;
  readonly health: HealthStatus;
}

/** How a run of an app ended. */
export type RunEnd = Pick<ContainerSnapshot, "exitCode" | "oomKilled">;
