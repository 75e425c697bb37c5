import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { startDeadlineRig } from "../../support/control-plane/deadline-rig.ts";
import { acknowledged, T0 } from "../../support/deployment-record.ts";

const DAY_MS = 24 * 3_600_000;

beforeEach(() => void vi.useFakeTimers({ now: T0, toFake: ["setTimeout", "clearTimeout", "Date", "hrtime"] }));
afterEach(() => void vi.useRealTimers());

test("a deployment that waits a month for its data budget ends only after that", async () => {
  await using rig = await startDeadlineRig({ ...systemClock, serviceNow: () => systemClock.monotonic() });
  await rig.receive();
  await rig.change({ state: acknowledged() });
  const waiting = {
    device_seq: 1,
    status: "Running",
    step: "pulling",
    message: "Waiting for the next month's budget.",
    details: { waiting_for: "monthly_budget", waiting_s: (31 * DAY_MS) / 1_000 },
    age_ms: 0,
  } as const;
  await rig.executor.apply("dep_1", { kind: "event", event: waiting, epoch: 1, maxAccountBytes: Infinity });
  // Timers of Node.js above 24.8 days fire at once.
  await vi.advanceTimersByTimeAsync(31 * DAY_MS + 900_000 - 1);
  expect(rig.ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  while (rig.ended.length === 0) await new Promise((resolve) => void setImmediate(resolve));
  expect(rig.ended).toEqual([["DeploymentTimeout", T0 + 31 * DAY_MS + 900_000]]);
});
