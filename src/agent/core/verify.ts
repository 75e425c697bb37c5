/** What a look at the app's container showed. */
export interface Vitals {
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

export type Verdict = "hold" | "wait" | "crashed" | "unhealthy";

export interface VerifyWindow {
  readonly settleMs: number;
  readonly healthTimeoutMs: number;
}

/**
 * Judges one look. An app has crashed when it is not running, or is not the same run as at the first look: an app that
 * restarts quickly enough looks alive at every single look. With a health check, health alone decides; without one,
 * staying up for the settle window does.
 *
 * @param elapsedMs since the first look
 */
export function judge(vitals: Vitals, baseline: Baseline, elapsedMs: number, window: VerifyWindow): Verdict {
  const sameRun = vitals.restartCount === baseline.restartCount && vitals.startedAt === baseline.startedAt;
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
