import { describe, expect, test } from "vitest";
import { CANCEL_TIMEOUT_MS, pendingDeadlines, expire, remainingMs } from "../../../src/control-plane/core/deadlines.ts";
import type { Deployment } from "../../../src/control-plane/core/deployment.ts";
import { DeadlineTimers } from "../../../src/control-plane/deployments/deadlines.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { receivedDeployment, T0 } from "../../support/deployment-record.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const ACK_MS = 10_000;
const YEARS_MS = 10 * 365 * 24 * 3_600_000;

const END = { kind: "finish", sinceMs: T0, durationMs: 900_000 };

describe("pending deadlines", () => {
  test("are those for the acknowledgement and the end", () => {
    const deployment = receivedDeployment();
    const acknowledgement = { kind: "acknowledge", sinceMs: T0, durationMs: ACK_MS };
    expect(pendingDeadlines(deployment, ACK_MS)).toEqual([END, acknowledgement]);
    expect(pendingDeadlines({ ...deployment, acknowledgedAtMs: T0 }, ACK_MS)).toEqual([END]);
  });

  test("include one for a cancellation, acknowledged or not", () => {
    const cancelled = receivedDeployment({ cancelRequestedAtMs: T0 + 1 });
    const cancelling = { kind: "cancel", sinceMs: T0 + 1, durationMs: CANCEL_TIMEOUT_MS };
    expect(pendingDeadlines(cancelled, ACK_MS)).toEqual([END, cancelling]);
  });

  test("are none for a finished deployment", () => {
    expect(pendingDeadlines(receivedDeployment({ status: "Success" }), ACK_MS)).toEqual([]);
  });

  test("have a remaining time of at most their duration", () => {
    const deadline = { kind: "finish", sinceMs: T0, durationMs: 1_000 } as const;
    expect(remainingMs(deadline, T0 + 400)).toBe(600);
    expect(remainingMs(deadline, T0 + YEARS_MS)).toBe(0);
    expect(remainingMs(deadline, T0 - YEARS_MS)).toBe(1_000);
  });
});

test("a deadline that was met meanwhile changes nothing", () => {
  expect(
    expire(receivedDeployment({ acknowledgedAtMs: T0 }), { kind: "acknowledge", durationMs: ACK_MS }, T0),
  ).toBeUndefined();
  expect(
    expire(receivedDeployment({ status: "Success" }), { kind: "finish", durationMs: 900_000 }, T0),
  ).toBeUndefined();
});

test.each([
  ["acknowledge", "DeviceNotReachable"],
  ["finish", "DeploymentTimeout"],
  ["cancel", "DeploymentCancelled"],
] as const)("%s not met in time: %s", (kind, code) => {
  const deployment = receivedDeployment(kind === "cancel" ? { cancelRequestedAtMs: T0 } : {});
  expect(expire(deployment, { kind, durationMs: 900_000 }, T0)?.fields).toMatchObject({ status: "Fail", code });
});

test("a deadline that was extended meanwhile changes nothing", () => {
  const deployment = receivedDeployment({ acknowledgedAtMs: T0, deadlineAtMs: T0 + 1_000_000 });
  expect(expire(deployment, { kind: "finish", durationMs: 900_000 }, T0 + 900_000)).toBeUndefined();
});

/** @param after the deployment after the expiry; `undefined` by default, as when it has ended */
async function start(
  onExpired: (id: string, kind: string) => Promise<void>,
  after: () => Deployment | undefined = () => undefined,
) {
  const clock = new FakeClock(T0);
  const logger = await createLogger({ name: "test", level: "fatal" });
  const deadlines = new DeadlineTimers({
    clock,
    logger,
    ackTimeoutMs: ACK_MS,
    onExpired: async (id, { kind }) => {
      await onExpired(id, kind);
      return after();
    },
  });
  return { clock, deadlines };
}

describe("timers", () => {
  test("fire once for the earliest deadline, also after the time of day has jumped", async () => {
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

  test("ignore an older version that arrives late", async () => {
    const expired: string[] = [];
    const { clock, deadlines } = await start(async (_id, kind) => void expired.push(kind));
    deadlines.watch(receivedDeployment({ version: 2, acknowledgedAtMs: T0 }));
    deadlines.watch(receivedDeployment({ version: 1 }));
    await clock.advance(900_000);
    expect(expired).toEqual(["finish"]);
  });

  test("are set for the next deadline if the expired one was met", async () => {
    const expired: string[] = [];
    const acknowledged = receivedDeployment({ version: 2, acknowledgedAtMs: T0 });
    const { clock, deadlines } = await start(
      async (_id, kind) => void expired.push(kind),
      () => (expired.length === 1 ? acknowledged : undefined),
    );
    deadlines.watch(receivedDeployment());
    await clock.advance(ACK_MS);
    expect(clock.pending).toBe(1);
    await clock.advance(900_000 - ACK_MS);
    expect(expired).toEqual(["acknowledge", "finish"]);
    expect(clock.pending).toBe(0);
  });

  test("are set again after a change of the deployment", async () => {
    const expired: string[] = [];
    const { clock, deadlines } = await start(async (_id, kind) => void expired.push(kind));
    deadlines.watch(receivedDeployment());
    deadlines.watch(receivedDeployment({ acknowledgedAtMs: T0 }));
    expect(clock.pending).toBe(1);
    await clock.advance(900_000);
    expect(expired).toEqual(["finish"]);
  });

  test.each([YEARS_MS, -YEARS_MS])("keep their time when the time of day jumps by %s ms in between", async (jump) => {
    const expired: string[] = [];
    const { clock, deadlines } = await start(async (_id, kind) => void expired.push(kind));
    deadlines.watch(receivedDeployment());
    clock.jump(jump);
    deadlines.watch(receivedDeployment({ acknowledgedAtMs: clock.now() }));
    await clock.advance(899_999);
    expect(expired).toEqual([]);
    await clock.advance(1);
    expect(expired).toEqual(["finish"]);
  });

  test("fire in time also after the clock was set back while the service was down", async () => {
    const expired: string[] = [];
    const { clock, deadlines } = await start(async (_id, kind) => void expired.push(kind));
    clock.jump(-YEARS_MS);
    deadlines.watch(receivedDeployment({ acknowledgedAtMs: T0 }));
    await clock.advance(900_000);
    expect(expired).toEqual(["finish"]);
  });

  test("retry when the store fails", async () => {
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

  test("wait longer by the time by which the deadline was extended", async () => {
    const expired: string[] = [];
    const { clock, deadlines } = await start(async (_, kind) => void expired.push(kind));
    const deployment = receivedDeployment({ acknowledgedAtMs: T0 });
    deadlines.watch(deployment);
    await clock.advance(600_000);
    deadlines.watch({ ...deployment, deadlineAtMs: deployment.deadlineAtMs + 3_600_000 });
    await clock.advance(900_000 + 3_600_000 - 600_000 - 1);
    expect(expired).toEqual([]);
    await clock.advance(1);
    expect(expired).toEqual(["finish"]);
    deadlines[Symbol.dispose]();
  });
});
