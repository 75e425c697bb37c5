import type { AppRunState } from "../../../protocol/app-report.ts";
import type { ContainerSnapshot } from "./container-status.ts";

/** What the engine reports of an app's container, as far as the run state depends on it. */
type ContainerRun = Pick<ContainerSnapshot, "status" | "restartCount" | "startedAt" | "finishedAt" | "health">;

export interface RunState {
  readonly state: AppRunState;
  /** Unix seconds; `null` where the device had no clock, or it is not known. */
  readonly since: number | null;
  /** When the state may change by time alone, in milliseconds from now; `undefined` where it does not. */
  readonly recheckMs: number | undefined;
}

/** A run that has lasted so long is no part of a crash loop any more: engines wait no longer than that between two. */
const MIN_STABLE_RUN_MS = 60_000;

/**
 * What an app does right now. One that crashes in a loop is up at most looks: until a run has lasted a minute, an app the
 * engine had to restart counts as restarting.
 *
 * @param container `undefined` where there is none
 * @param nowMs time of day
 */
export function runState(container: ContainerRun | undefined, nowMs: number): RunState {
  if (!container) return { state: "missing", since: null, recheckMs: undefined };
  const { status, restartCount, health } = container;
  const [started, finished] = [seconds(container.startedAt), seconds(container.finishedAt)];
  switch (status) {
    case "running": {
      const left = restartCount > 0 ? steadyIn(container.startedAt, nowMs) : 0;
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

/** A clock that was set makes a run older or younger than it is; no longer than a minute. */
function steadyIn(startedAt: string, nowMs: number): number {
  const began = Date.parse(startedAt);
  if (Number.isNaN(began)) return 0;
  return Math.max(0, Math.min(MIN_STABLE_RUN_MS, MIN_STABLE_RUN_MS - (nowMs - began)));
}

/** Earlier than this software is a device without a clock, or an engine that has nothing to say. */
const MIN_PLAUSIBLE_TIME_MS = Date.parse("2020-01-01T00:00:00Z");

function seconds(timestamp: string): number | null {
  const ms = Date.parse(timestamp);
  return Number.isNaN(ms) || ms < MIN_PLAUSIBLE_TIME_MS ? null : Math.floor(ms / 1000);
}
