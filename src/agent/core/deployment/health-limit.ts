import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { HealthcheckTimes } from "../app/container-status.ts";

/** Which setting limits the wait for a health check. */
export type HealthLimitSource = "health_timeout_s" | "healthcheck" | "deploy.health_timeout_s";

/** How long an app may take to become healthy. */
export interface HealthLimit {
  readonly ms: number;
  readonly from: HealthLimitSource;
}

/** Longest wait that a health check can ask for, of which an interval alone may be an hour. */
const MAX_CHECK_MS = 7_200_000;

/**
 * Returns how long an app may take to become healthy: what the request sets; otherwise what the health check itself needs
 * until the engine finds the app unhealthy, and at least the device's setting.
 *
 * @param check of the container, from the request or the image; `undefined` if it has none
 */
export function healthLimit(
  { health_timeout_s: requestedS }: Pick<AppSpec, "health_timeout_s">,
  check: HealthcheckTimes | undefined,
  deviceMs: number,
): HealthLimit {
  if (requestedS !== undefined) return { ms: requestedS * 1000, from: "health_timeout_s" };
  const checkMs = check ? Math.min(MAX_CHECK_MS, timeToVerdict(check)) : 0;
  return checkMs > deviceMs ? { ms: checkMs, from: "healthcheck" } : { ms: deviceMs, from: "deploy.health_timeout_s" };
}

/** A failure counts if its run began after the start period; the run before may have begun at the end of it. */
function timeToVerdict({ startPeriodMs, intervalMs, timeoutMs, retries }: HealthcheckTimes): number {
  return startPeriodMs + timeoutMs + retries * (intervalMs + timeoutMs);
}

/** Says that the limit has passed, which setting it is, and how to raise it. */
export function healthLimitText({ ms, from }: HealthLimit): string {
  const text = `The app's health check did not become healthy within ${seconds(ms)} s`;
  switch (from) {
    case "health_timeout_s":
      return `${text}, the app's health_timeout_s.`;
    case "deploy.health_timeout_s":
      return `${text}, the device's \`deploy.health_timeout_s\`. A request can set health_timeout_s.`;
    case "healthcheck":
      return (
        `${text}: its start period, interval, timeout and retries allow no more. A request can set ` +
        "health_timeout_s."
      );
  }
}

/** When the first notices of a wait are due, in milliseconds since its beginning; after them one each minute. */
const FIRST_NOTICES_MS = [10_000, 30_000];
const NOTICE_INTERVAL_MS = 60_000;

/** Returns when the next notice of a wait is due, in milliseconds since its beginning. */
export function nextNoticeMs(elapsedMs: number): number {
  const first = FIRST_NOTICES_MS.find((dueMs) => elapsedMs < dueMs);
  if (first !== undefined) return first;
  const last = FIRST_NOTICES_MS.at(-1) ?? 0;
  return last + NOTICE_INTERVAL_MS * (Math.floor((elapsedMs - last) / NOTICE_INTERVAL_MS) + 1);
}

/** Whole seconds. */
export function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
