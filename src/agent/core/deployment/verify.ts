import type { ContainerSnapshot } from "../app/container-status.ts";
import { exitedSuccessfully, type RestartPolicy } from "../app/restart-policy.ts";

/** What the engine reports of the app's container, as far as verification depends on it. */
type VerifySample = Pick<ContainerSnapshot, "status" | "restartCount" | "exitCode" | "startedAt" | "health">;

/** Identifies the run of the app that is being verified, from the first sample. */
export interface Baseline {
  readonly restartCount: number;
  readonly startedAt: string;
}

/**
 * `exited`: the app ended without an error, as its restart policy allows. `incomplete`: it has not ended, though others
 * wait for that.
 */
export type VerifyOutcome = "healthy" | "exited" | "wait" | "crashed" | "unhealthy" | "incomplete";

export interface VerifyWindow {
  readonly settleMs: number;
  readonly healthTimeoutMs: number;
  /** What the app asks for when it ends by itself. */
  readonly restartPolicy: RestartPolicy | undefined;
  /** How long it may take to end, where others wait for that; absent where it is to run on. */
  readonly completionMs?: number;
}

/**
 * Evaluates one sample. An app has crashed when it is not running, or when its run is not that of the first sample: an
 * app that restarts quickly is running in every sample. With a health check, health alone decides; without one, the app
 * has to stay up for the settle window. An app that may end is verified when it ends without an error.
 *
 * @param elapsedMs since the first sample
 */
export function evaluateSample(
  sample: VerifySample,
  baseline: Baseline,
  elapsedMs: number,
  window: VerifyWindow,
): VerifyOutcome {
  const sameRun = sample.restartCount === baseline.restartCount && sample.startedAt === baseline.startedAt;
  if (sample.status === "exited" && sameRun && exitedSuccessfully(window.restartPolicy, sample.exitCode))
    return "exited";
  if (sample.status !== "running" || !sameRun) return "crashed";
  if (window.completionMs !== undefined) return elapsedMs >= window.completionMs ? "incomplete" : "wait";
  switch (sample.health) {
    case "healthy":
      return "healthy";
    case "unhealthy":
      return "unhealthy";
    case "starting":
      return elapsedMs >= window.healthTimeoutMs ? "unhealthy" : "wait";
    case "none":
      return elapsedMs >= window.settleMs ? "healthy" : "wait";
  }
}
