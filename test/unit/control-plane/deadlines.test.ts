import { describe, expect, test } from "vitest";
import { CANCEL_TIMEOUT_MS, expire, nextDeadline } from "../../../src/control-plane/core/deadlines.ts";
import { Deadlines } from "../../../src/control-plane/deployments/deadlines.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { receivedDeployment, T0 } from "../../support/deployment-record.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const ACK_MS = 10_000;

describe("what has to happen next", () => {
  test("the acknowledgement, then the end", () => {
    const deployment = receivedDeployment();
    expect(nextDeadline(deployment, ACK_MS)).toEqual({ kind: "acknowledge", atMs: T0 + ACK_MS });
    expect(nextDeadline({ ...deployment, acknowledgedAtMs: T0 }, ACK_MS)).toEqual({
      kind: "finish",
      atMs: T0 + 900_000,
    });
  });

  test("the end comes first where it is sooner", () => {
    expect(nextDeadline(receivedDeployment({ deadlineAtMs: T0 + 5 }), ACK_MS)).toEqual({
      kind: "finish",
      atMs: T0 + 5,
    });
  });

  test("cancelling has its own time, acknowledged or not", () => {
    const cancelled = receivedDeployment({ cancelRequestedAtMs: T0 + 1 });
    expect(nextDeadline(cancelled, ACK_MS)).toEqual({ kind: "cancel", atMs: T0 + 1 + CANCEL_TIMEOUT_MS });
  });

  test("nothing once it is finished", () => {
    expect(nextDeadline(receivedDeployment({ status: "Success" }), ACK_MS)).toBeUndefined();
  });
});

test("a deadline whose purpose was met meanwhile changes nothing", () => {
  expect(expire(receivedDeployment({ acknowledgedAtMs: T0 }), "acknowledge", T0)).toBeUndefined();
  expect(expire(receivedDeployment({ status: "Success" }), "finish", T0)).toBeUndefined();
});

test.each([
  ["acknowledge", "DeviceNotReachable"],
  ["finish", "DeploymentTimeout"],
  ["cancel", "DeploymentCancelled"],
] as const)("%s not met in time: %s", (kind, code) => {
  expect(expire(receivedDeployment(), kind, T0)?.fields).toMatchObject({ status: "Fail", code });
});

async function start(onExpired: (id: string, kind: string) => Promise<void>) {
  const clock = new FakeClock(T0);
  const logger = await createLogger({ name: "test", level: "fatal" });
  return { clock, deadlines: new Deadlines({ clock, logger, ackTimeoutMs: ACK_MS, onExpired }) };
}

describe("timers", () => {
  test("fire for what is next, once, also after the time of day has jumped", async () => {
    const expired: string[] = [];
    const { clock, deadlines } = await start(async (_id, kind) => void expired.push(kind));
    deadlines.watch(receivedDeployment());
    clock.jump(-3_600_000);
    await clock.advance(ACK_MS - 1);
    expect(expired).toEqual([]);
    await clock.advance(1);
    expect(expired).toEqual(["acknowledge"]);
    deadlines.watch(receivedDeployment({ status: "Fail" }));
    expect(clock.pending).toBe(0);
  });

  test("are set anew when the deployment has moved on", async () => {
    const expired: string[] = [];
    const { clock, deadlines } = await start(async (_id, kind) => void expired.push(kind));
    deadlines.watch(receivedDeployment());
    deadlines.watch(receivedDeployment({ acknowledgedAtMs: T0 }));
    expect(clock.pending).toBe(1);
    await clock.advance(900_000);
    expect(expired).toEqual(["finish"]);
  });

  test("try again where the store could not take it", async () => {
    let attempts = 0;
    const { clock, deadlines } = await start(async () => {
      attempts++;
      if (attempts < 3) throw new Error("disk full");
    });
    deadlines.watch(receivedDeployment());
    await clock.advance(60_000);
    expect(attempts).toBe(3);
    expect(clock.pending).toBe(0);
  });
});
