import type { AppSpec } from "../../../protocol/app-spec.ts";
import { exitedSuccessfully } from "../app/restart-policy.ts";

/** What a look at the app's container showed. */
export interface VerifySample {
  readonly status: string;
  readonly restartCount: number;
  readonly exitCode: number;
  readonly oomKilled: boolean;
  readonly startedAt: string;
  readonly health: "none" | "starting" | "healthy" | "unhealthy";
}

/** The run of the app that is being verified, as its first look showed it. */
export interface Baseline {
  readonly restartCount: number;
  readonly startedAt: string;
}

/** `exited`: it did what it was to do, and may stay down. */
export type VerifyOutcome = "healthy" | "exited" | "wait" | "crashed" | "unhealthy";

export interface VerifyWindow {
  readonly settleMs: number;
  readonly healthTimeoutMs: number;
  /** What the app asks for when it ends by itself. */
  readonly restartPolicy: AppSpec["restart_policy"];
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
    return "exited";
  if (vitals.status !== "running" || !sameRun) return "crashed";
  switch (vitals.health) {
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
