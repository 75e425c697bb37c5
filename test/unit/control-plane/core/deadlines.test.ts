import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CANCEL_TIMEOUT_MS,
  dueTimes,
  expire,
  nextDueMs,
  pendingDeadlines,
  remainingMs,
} from "../../../../src/control-plane/core/deadlines.ts";
import type { Deployment } from "../../../../src/control-plane/core/deployment.ts";
import { acknowledged, expireDeadline, receivedDeployment, SUCCEEDED, T0 } from "../../../support/deployment-record.ts";

const ACK_MS = 10_000;
const YEARS_MS = 10 * 365 * 24 * 3_600_000;

const END = { kind: "finish", sinceMs: T0, durationMs: 900_000 };

/** @param serviceNowMs service time, which is not the time of day */
const at = (nowMs: number, serviceNowMs: number) => ({ nowMs, serviceNowMs, ackTimeoutMs: ACK_MS });

/** Returns the deployment with its deadlines, received at the service time 0. */
const received = (fields: Partial<Deployment> = {}): Deployment => {
  const deployment = receivedDeployment(fields);
  return { ...deployment, ...dueTimes(undefined, deployment, at(T0, 0)) };
};

describe("pending deadlines", () => {
  test("are those for the acknowledgement and the end", () => {
    const deployment = receivedDeployment();
    const acknowledgement = { kind: "acknowledge", sinceMs: T0, durationMs: ACK_MS };
    expect(pendingDeadlines(deployment, ACK_MS)).toEqual([END, acknowledgement]);
    expect(pendingDeadlines({ ...deployment, state: acknowledged() }, ACK_MS)).toEqual([END]);
  });

  test("include one for a cancellation, acknowledged or not", () => {
    const cancelled = receivedDeployment({ cancelRequestedAtMs: T0 + 1 });
    const cancelling = { kind: "cancel", sinceMs: T0 + 1, durationMs: CANCEL_TIMEOUT_MS };
    expect(pendingDeadlines(cancelled, ACK_MS)).toEqual([END, cancelling]);
  });

  test("are none for a finished deployment", () => {
    expect(pendingDeadlines(receivedDeployment({ state: SUCCEEDED }), ACK_MS)).toEqual([]);
  });

  test("have a remaining time of at most their duration", () => {
    const deadline = { kind: "finish", sinceMs: T0, durationMs: 1_000 } as const;
    expect(remainingMs(deadline, T0 + 400)).toBe(600);
    expect(remainingMs(deadline, T0 + YEARS_MS)).toBe(0);
    expect(remainingMs(deadline, T0 - YEARS_MS)).toBe(1_000);
  });
});

describe("due times", () => {
  test("are in service time, the earlier one first", () => {
    const deployment = received();
    expect(deployment).toMatchObject({ finishDueMs: 900_000, replyDueMs: ACK_MS });
    expect(nextDueMs(deployment)).toBe(ACK_MS);
    expect(nextDueMs({ ...deployment, replyDueMs: undefined })).toBe(900_000);
  });

  test.each([YEARS_MS, -YEARS_MS])("stay when the time of day jumps by %s ms in between", (jump) => {
    const deployment = received();
    const held = { ...deployment, state: acknowledged(T0 + jump) };
    expect(dueTimes(deployment, held, at(T0 + jump, 5_000))).toEqual({
      finishDueMs: 900_000,
      replyDueMs: undefined,
    });
  });

  test("are measured anew with the time of day, also after it was set back while the service was down", () => {
    const deployment = receivedDeployment({ state: acknowledged() });
    expect(dueTimes(undefined, deployment, at(T0 - YEARS_MS, 7)).finishDueMs).toBe(900_007);
    expect(dueTimes(undefined, deployment, at(T0 + 600_000, 7)).finishDueMs).toBe(300_007);
    expect(dueTimes(undefined, deployment, at(T0 + YEARS_MS, 7)).finishDueMs).toBe(7);
  });

  test("are later by the time by which a deadline was extended", () => {
    const deployment = received({ state: acknowledged() });
    const extended = { ...deployment, deadlineAtMs: deployment.deadlineAtMs + 3_600_000 };
    expect(dueTimes(deployment, extended, at(T0 + 600_000, 600_000)).finishDueMs).toBe(900_000 + 3_600_000);
  });

  test("begin anew for another kind of reply", () => {
    const deployment = received();
    const cancelled = { ...deployment, cancelRequestedAtMs: T0 + 3_000 };
    expect(dueTimes(deployment, cancelled, at(T0 + 3_000, 3_000)).replyDueMs).toBe(3_000 + CANCEL_TIMEOUT_MS);
  });

  test("are whole milliseconds, and none for a finished deployment", () => {
    const deployment = receivedDeployment();
    expect(dueTimes(undefined, deployment, at(T0, 0.25))).toEqual({ finishDueMs: 900_001, replyDueMs: ACK_MS + 1 });
    const ended = { ...received(), state: SUCCEEDED };
    expect(dueTimes(received(), ended, at(T0, 5))).toEqual({ finishDueMs: undefined, replyDueMs: undefined });
  });

  test("do not depend on how often they are determined again", () => {
    const times = fc.array(fc.tuple(fc.integer({ min: -YEARS_MS, max: YEARS_MS }), fc.nat(9_000)), { maxLength: 8 });
    fc.assert(
      fc.property(times, (list) => {
        const deployment = { ...received() };
        for (const [jump, serviceMs] of list) {
          Object.assign(deployment, dueTimes(deployment, deployment, at(T0 + jump, serviceMs)));
        }
        expect(deployment).toEqual(received());
      }),
    );
  });
});

describe("a deployment of which no deadline has passed", () => {
  test("does not change before it is due", () => {
    expect(expire(received(), at(T0 + YEARS_MS, ACK_MS - 1))).toBeUndefined();
    expect(expire(received(), at(T0, ACK_MS))?.fields?.state).toMatchObject({ code: "DeviceNotReachable" });
  });

  test("does not change if the deadline was met or extended meanwhile", () => {
    const deployment = received();
    for (const fields of [{ state: acknowledged() }, { state: SUCCEEDED }]) {
      const met = { ...deployment, ...fields };
      expect(expire({ ...met, ...dueTimes(deployment, met, at(T0, 0)) }, at(T0, ACK_MS))).toBeUndefined();
    }
    const held = received({ state: acknowledged() });
    const extended = { ...held, deadlineAtMs: T0 + 1_000_000 };
    const due = dueTimes(held, extended, at(T0, 0));
    expect(expire({ ...extended, ...due }, at(T0, 900_000))).toBeUndefined();
    expect(expire({ ...extended, ...due }, at(T0, 1_000_000))?.fields?.state).toMatchObject({
      code: "DeploymentTimeout",
    });
  });

  test("gets its deadlines again if those on record do not belong to it", () => {
    expect(expire(receivedDeployment({ state: acknowledged(), replyDueMs: 1 }), at(T0, 5))).toEqual({ fields: {} });
  });
});

test.each([
  ["acknowledge", "reply", "DeviceNotReachable"],
  ["finish", "finish", "DeploymentTimeout"],
  ["cancel", "reply", "DeploymentCancelled"],
] as const)("%s not met in time (%s): %s", (kind, due, code) => {
  const deployment = receivedDeployment(kind === "cancel" ? { cancelRequestedAtMs: T0 } : {});
  expect(expireDeadline(deployment, due, T0)?.fields?.state).toMatchObject({ status: "Fail", code });
});
