import { expect, it } from "vitest";
import { observeRestarts, type RestartTrace } from "../../../../../src/agent/core/app/restart-pause.ts";

/** What a container is that ends after each run of so long, on an engine that restarts it at once. */
function loop(runMs: number, forMs: number): { readonly runs: number; readonly pauses: readonly number[] } {
  const pauses: number[] = [];
  let trace: RestartTrace | undefined;
  let [runs, restarts] = [0, 0];
  for (let now = 0; now < forMs; now += runMs) {
    runs++;
    const seen = observeRestarts(trace, restarts++, now);
    ({ trace } = seen);
    if (seen.pauseMs === undefined) continue;
    pauses.push(seen.pauseMs);
    now += seen.pauseMs;
    restarts = 0;
  }
  return { runs, pauses };
}

it("an app that ends at once is restarted about as often as by Docker", () => {
  // Docker: 8 runs in 20 s, and one in a minute after an hour.
  expect(loop(200, 20_000).runs).toBeLessThanOrEqual(12);
  const hour = loop(200, 3_600_000);
  expect(hour.runs).toBeLessThan(140);
  expect(hour.pauses.slice(0, 6)).toEqual([3_200, 6_400, 12_800, 25_600, 51_200, 60_000]);
});

it("an app whose runs last is restarted at once", () => {
  expect(loop(10_000, 3_600_000).pauses).toEqual([]);
});

it("a loop that was going on before the agent looked does not pause at the first look", () => {
  const { trace, pauseMs } = observeRestarts(undefined, 10_000, 5);
  expect(pauseMs).toBeUndefined();
  expect(observeRestarts(trace, 10_001, 6).pauseMs).toBeUndefined();
  expect(observeRestarts(trace, 10_005, 6).pauseMs).toBe(3_200);
});

it("a run that lasts ends the loop", () => {
  let { trace, pauseMs } = observeRestarts({ restarts: 0, startedMs: 0, atOnce: 4, pauses: 0 }, 1, 100);
  expect(pauseMs).toBe(3_200);
  ({ trace, pauseMs } = observeRestarts(trace, 1, 3_300 + 10_000));
  expect({ pauseMs, ...trace }).toMatchObject({ pauseMs: undefined, pauses: 0, atOnce: 1 });
});
