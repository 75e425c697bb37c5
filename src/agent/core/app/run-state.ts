import type { AppRunState } from "../../../protocol/apps/app-report.ts";
import type { ContainerSnapshot } from "./container-status.ts";

/** What the engine reports of an app's container, as far as the run state depends on it. */
type ContainerRun = Pick<ContainerSnapshot, "status" | "restartCount" | "startedAt" | "finishedAt" | "health">;

export interface RunState {
  readonly state: AppRunState;
  /** Unix seconds; `null` if unknown, or if the device's clock was not set. */
  readonly since: number | null;
  /** Milliseconds after which the state may change by time alone; `undefined` if it does not. */
  readonly recheckMs: number | undefined;
}

/** A run of this length is not part of a crash loop: engines wait at most this long between two runs. */
const MIN_STABLE_RUN_MS = 60_000;

/**
 * Returns the state of an app for reports. An app in a crash loop is running most of the time, so an app that the
 * engine restarted counts as restarting until its run has lasted a minute.
 *
 * @param container `undefined` if there is none
 * @param nowMs time of day
 */
export function runState(container: ContainerRun | undefined, nowMs: number): RunState {
  if (!container) return { state: "missing", since: null, recheckMs: undefined };
  const { status, restartCount, health } = container;
  const [started, finished] = [toUnixSeconds(container.startedAt), toUnixSeconds(container.finishedAt)];
  switch (status) {
    case "running": {
      const left = restartCount > 0 ? msUntilStable(container.startedAt, nowMs) : 0;
      if (left > 0) return { state: "restarting", since: started, recheckMs: left };
      return { state: health === "unhealthy" ? "unhealthy" : "running", since: started, recheckMs: undefined };
    }
    case "restarting":
      return { state: "restarting", since: finished ?? started, recheckMs: undefined };
    case "created":
    case "paused":
    case "removing":
    case "exited":
    case "dead":
    case "unknown":
      return { state: "stopped", since: status === "created" ? null : finished, recheckMs: undefined };
  }
}

/** Milliseconds until the run is stable; bounded, since the clock may have been set during the run. */
function msUntilStable(startedAt: string, nowMs: number): number {
  const began = Date.parse(startedAt);
  if (Number.isNaN(began)) return 0;
  return Math.max(0, Math.min(MIN_STABLE_RUN_MS, MIN_STABLE_RUN_MS - (nowMs - began)));
}

/** Earlier times come from a device whose clock was not set, or mean "never" (year 1). */
const MIN_PLAUSIBLE_TIME_MS = Date.parse("2020-01-01T00:00:00Z");

function toUnixSeconds(timestamp: string): number | null {
  const ms = Date.parse(timestamp);
  return Number.isNaN(ms) || ms < MIN_PLAUSIBLE_TIME_MS ? null : Math.floor(ms / 1000);
}
