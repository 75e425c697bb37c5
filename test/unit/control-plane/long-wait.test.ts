import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { applyDeviceEvent } from "../../../src/control-plane/core/transitions.ts";
import { DeadlineTimers, type ExpiredDeadline } from "../../../src/control-plane/deployments/deadlines.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { applyChange, receivedDeployment, T0 } from "../../support/deployment-record.ts";

const DAY_MS = 24 * 3_600_000;

beforeEach(() => void vi.useFakeTimers({ now: T0 }));
afterEach(() => void vi.useRealTimers());

test("a deployment that waits a month for its data budget ends only after that", async () => {
  const expired: [string, number][] = [];
  const onExpired = async (_id: string, { kind }: ExpiredDeadline) => {
    expired.push([kind, Date.now() - T0]);
    return undefined;
  };
  const logger = await createLogger({ name: "test", level: "fatal" });
  using deadlines = new DeadlineTimers({ clock: systemClock, logger, ackTimeoutMs: 10_000, onExpired });
  const acknowledged = receivedDeployment({ acknowledgedAtMs: T0 });
  deadlines.watch(acknowledged);
  const waiting = {
    device_seq: 1,
    status: "Running",
    step: "pulling",
    message: "Waiting for the next month's budget.",
    details: { waiting_for: "monthly_budget", waiting_s: (31 * DAY_MS) / 1_000 },
    age_ms: 0,
  } as const;
  deadlines.watch(applyChange(acknowledged, applyDeviceEvent(acknowledged, waiting, T0, 1)));
  // Timers of Node.js above 24.8 days fire at once.
  await vi.advanceTimersByTimeAsync(31 * DAY_MS + 900_000 - 1);
  expect(expired).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(expired).toEqual([["finish", 31 * DAY_MS + 900_000]]);
});
