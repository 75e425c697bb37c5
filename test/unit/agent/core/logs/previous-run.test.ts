import { expect, test } from "vitest";
import { previousRunsUntil } from "../../../../../src/agent/core/logs/time.ts";
import { nanoseconds } from "../../../../../src/agent/core/logs/time.ts";

const NEVER = "0001-01-01T00:00:00Z";

test.each([
  ["before its first start", NEVER, NEVER],
  ["in its first run", "2026-11-22T07:42:06.4Z", NEVER],
  ["whose state the engine does not tell", "", ""],
])("a container %s has had no earlier run", (_name, startedAt, finishedAt) => {
  expect(previousRunsUntil({ startedAt, finishedAt })).toBeUndefined();
});

test("while a run is going on, earlier ones end between it and the end of the one before", () => {
  // As Docker 20.10 gave them: the present run's first line is older than its start.
  const until = previousRunsUntil({
    startedAt: "2026-11-22T07:42:17.370876353Z",
    finishedAt: "2026-11-22T07:42:16.977567772Z",
  });
  expect(until).toBeLessThan(nanoseconds("2026-11-22T07:42:17.370714211Z")!);
  expect(until).toBeGreaterThan(nanoseconds("2026-11-22T07:42:16.977567772Z")!);
});

test("of a run that is over, the first lines may be slightly older than its start", () => {
  const until = previousRunsUntil({
    startedAt: "2026-11-22T07:42:11.512291792Z",
    finishedAt: "2026-11-22T07:42:12.510949268Z",
  });
  expect(until).toBeLessThan(nanoseconds("2026-11-22T07:42:11.507849686Z")!);
  expect(until).toBeGreaterThan(nanoseconds("2026-11-22T07:42:10.710899464Z")!);
});

test("times in another zone are compared as times", () => {
  const until = previousRunsUntil({
    startedAt: "2026-11-22T09:00:10+01:00",
    finishedAt: "2026-11-22T08:00:08Z",
  });
  expect(until).toBe(nanoseconds("2026-11-22T08:00:09Z"));
});
