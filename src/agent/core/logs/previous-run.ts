import type { ContainerSnapshot } from "../app/container-status.ts";
import { nanoseconds } from "./time.ts";

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
