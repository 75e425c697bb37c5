import type { ContainerSnapshot } from "../app/container-status.ts";
import { exitedSuccessfully, type RestartPolicy } from "../app/restart-policy.ts";

/** What the engine reports of the app's container, as far as verification depends on it. */
type VerifySample = Pick<ContainerSnapshot, "status" | "restartCount" | "exitCode" | "startedAt" | "health">;

/** The run of the app that is being verified, as its first look showed it. */
export interface Baseline {
  readonly restartCount: number;
  readonly startedAt: string;
}

/** `ended`: it did what it was to do, and may stay down. */
export type VerifyOutcome = "hold" | "ended" | "wait" | "crashed" | "unhealthy";

export interface VerifyWindow {
  readonly settleMs: number;
  readonly healthTimeoutMs: number;
  /** What the app asks for when it ends by itself. */
  readonly restartPolicy: RestartPolicy | undefined;
}

/**
 * Judges one look. An app has crashed when it is not running, or is not the same run as at the first look: an app that
 * restarts quickly enough looks alive at every single look. With a health check, health alone decides; without one,
 * staying up for the settle window does. An app that may end by itself has proved itself when it ended without an error.
 *
 * @param elapsedMs since the first look
 */
export function evaluateSample(
  vitals: VerifySample,
  baseline: Baseline,
  elapsedMs: number,
  window: VerifyWindow,
): VerifyOutcome {
  const sameRun = vitals.restartCount === baseline.restartCount && vitals.startedAt === baseline.startedAt;
  if (vitals.status === "exited" && sameRun && exitedSuccessfully(window.restartPolicy, vitals.exitCode))
    return "ended";
  if (vitals.status !== "running" || !sameRun) return "crashed";
  switch (vitals.health) {
    case "healthy":
      return "hold";
    case "unhealthy":
      return "unhealthy";
    case "starting":
      return elapsedMs >= window.healthTimeoutMs ? "unhealthy" : "wait";
    case "none":
      return elapsedMs >= window.settleMs ? "hold" : "wait";
  }
}
