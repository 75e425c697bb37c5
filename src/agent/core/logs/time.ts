import type { ContainerSnapshot } from "../app/container-status.ts";

const NANOSECONDS_PER_MS = 1_000_000n;
const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** Parses an RFC 3339 time in any zone to nanoseconds since the Unix epoch; `undefined` if it is invalid. */
export function nanoseconds(timestamp: string): bigint | undefined {
  const [, seconds, fraction = "", zone] = RFC3339.exec(timestamp) ?? [];
  if (seconds === undefined || zone === undefined) return undefined;
  const ms = Date.parse(`${seconds}${zone}`);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * NANOSECONDS_PER_MS + BigInt(fraction.padEnd(9, "0"));
}

/** Converts an RFC 3339 time to UTC, with the same fraction of a second. Returns other text unchanged. */
export function inUtc(timestamp: string): string {
  const [, seconds, fraction, zone] = RFC3339.exec(timestamp) ?? [];
  if (seconds === undefined || zone === undefined || zone === "Z") return timestamp;
  const ms = Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(ms)) return timestamp;
  return `${new Date(ms).toISOString().slice(0, 19)}${fraction === undefined ? "" : `.${fraction}`}Z`;
}

/**
 * Docker 20.10 records the start of a run a few milliseconds after the run's first output; between two runs there are at
 * least 100 ms.
 */
const START_TOLERANCE_NS = 50_000_000n;

/**
 * Returns a time between the container's last run and the run before it, in nanoseconds since the Unix epoch. Earlier lines
 * of its log are of earlier runs. `undefined` if it has had one run at most.
 */
export function previousRunsUntil({
  startedAt,
  finishedAt,
}: Pick<ContainerSnapshot, "startedAt" | "finishedAt">): bigint | undefined {
  const [started = 0n, finished = 0n] = [nanoseconds(startedAt), nanoseconds(finishedAt)];
  // Year 1: it was never started, or no run has ended.
  if (started <= 0n || finished <= 0n) return undefined;
  // While a run is going on, the end of the run before is known.
  if (finished < started) return (started + finished) / 2n;
  return started - START_TOLERANCE_NS;
}
