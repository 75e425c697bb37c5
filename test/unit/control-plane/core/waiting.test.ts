import { describe, expect, test } from "vitest";
import { confirmOnDevice } from "../../../../src/control-plane/core/connection-notes.ts";
import {
  completeChange,
  completeNew,
  expire,
  nextDueMs,
  pendingDeadlines,
} from "../../../../src/control-plane/core/deadlines.ts";
import { nextDelivery } from "../../../../src/control-plane/core/delivery.ts";
import {
  type Deployment,
  type DeploymentChange,
  newDeployment,
} from "../../../../src/control-plane/core/deployment.ts";
import {
  applyOutcome,
  markForOutcomeQuery,
  markUncertainOnStart,
} from "../../../../src/control-plane/core/resolve-outcome.ts";
import { acknowledge, applyDeviceEvent, fail, requestCancel } from "../../../../src/control-plane/core/transitions.ts";
import { endWaitToSend, waitForDevice } from "../../../../src/control-plane/core/waiting.ts";
import { applyChange, commandOf, factsOf, T0 } from "../../../support/deployment-record.ts";

const ACK_MS = 10_000;
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 900_000;

const at = (nowMs: number) => ({ nowMs, serviceNowMs: nowMs, ackTimeoutMs: ACK_MS });

const change = (deployment: Deployment, decided: DeploymentChange | undefined, nowMs: number): Deployment =>
  applyChange(deployment, decided && completeChange(deployment, decided, at(nowMs)));

/** A deployment whose client waits an hour for the device. */
function received(waitMs: number | null = HOUR_MS): Deployment {
  const given = { id: "dep_1", accountId: "acc_1", assetUuid: "asset", app: "web", options: {} };
  const deployment = newDeployment({
    ...given,
    command: commandOf("stop"),
    hasRegistryAuth: false,
    nowMs: T0,
    timeoutMs: TIMEOUT_MS,
    waitMs: waitMs ?? undefined,
  });
  return completeNew(deployment, at(T0));
}

const waiting = (): Deployment =>
  change(received(), waitForDevice(received(), T0, "The device is not connected; waiting for it"), T0);

/** One that waits again, so that the device may have it. */
const waitingAgain = (): Deployment => change(received(), expire(received(), at(T0 + ACK_MS)), T0 + ACK_MS);

describe("a deployment that waits for its device", () => {
  test("says until when, and fails then", () => {
    expect(factsOf(waiting())).toMatchObject({
      status: "Running",
      isWaiting: true,
      delivery: "command",
      deadlineAtMs: T0 + HOUR_MS + TIMEOUT_MS,
      lastEvent: {
        message: `The device is not connected; waiting for it until ${new Date(T0 + HOUR_MS).toISOString()}.`,
        details: { waiting_for: "device", until: (T0 + HOUR_MS) / 1000 },
      },
    });
    expect(nextDueMs(waiting())).toBe(T0 + HOUR_MS);
    expect(expire(waiting(), at(T0 + HOUR_MS - 1))).toBeUndefined();
    const ended = change(waiting(), expire(waiting(), at(T0 + HOUR_MS)), T0 + HOUR_MS);
    expect(factsOf(ended)).toMatchObject({ status: "Fail", code: "DeviceNotReachable" });
  });

  test("does not wait without the wish, or after its time", () => {
    expect(waitForDevice(received(null), T0, "x")).toBeUndefined();
    expect(waitForDevice(received(), T0 + HOUR_MS, "x")).toBeUndefined();
  });

  test("is sent without a question when the device connects, with its whole time", () => {
    const now = T0 + 600_000;
    expect(markForOutcomeQuery(waiting(), now, 1)).toBeUndefined();
    expect(nextDelivery(waiting(), undefined)).toBe("end_wait");
    expect(factsOf(change(waiting(), endWaitToSend(waiting(), now), now))).toMatchObject({
      isWaiting: false,
      delivery: "command",
      lastEvent: { message: "The device is connected; the deployment is sent." },
      deadlineAtMs: now + TIMEOUT_MS,
      finishDueMs: now + TIMEOUT_MS,
      replyDueMs: now + ACK_MS,
    });
  });

  test("is sent when the device connects and does not know it, if it was sent before", () => {
    const now = T0 + 600_000;
    const asked = change(waitingAgain(), markForOutcomeQuery(waitingAgain(), now, 1), now);
    expect(factsOf(asked)).toMatchObject({
      isWaiting: false,
      uncertainty: "asked",
      delivery: undefined,
      lastEvent: { message: "The device is connected; the deployment is sent." },
      deadlineAtMs: now + TIMEOUT_MS,
      finishDueMs: now + TIMEOUT_MS,
      replyDueMs: now + ACK_MS,
    });
    const sent = change(asked, applyOutcome(asked, { status: null }, now, 1), now);
    expect(factsOf(sent).delivery).toBe("command");
  });

  test("goes on where the device has it, with its whole time", () => {
    const now = T0 + 600_000;
    const event = { device_seq: 1, status: "Running", message: "x", step: "pulling" } as const;
    for (const decided of [
      confirmOnDevice(waiting(), now, 1),
      acknowledge(waiting(), now, 1),
      applyDeviceEvent(waiting(), event, now, 1),
    ]) {
      expect(factsOf(change(waiting(), decided, now))).toMatchObject({
        isWaiting: false,
        acknowledgedAtMs: now,
        deadlineAtMs: now + TIMEOUT_MS,
        replyDueMs: undefined,
      });
    }
  });

  test("waits again if the device does not acknowledge it, until its time is over", () => {
    const now = T0 + 600_000;
    const asked = change(waitingAgain(), markForOutcomeQuery(waitingAgain(), now, 1), now);
    const sent = change(asked, applyOutcome(asked, { status: null }, now, 1), now);
    const again = change(sent, expire(sent, at(now + ACK_MS)), now + ACK_MS);
    expect(factsOf(again)).toMatchObject({ isWaiting: true, delivery: "command", replyDueMs: T0 + HOUR_MS });
    expect(again.deadlineAtMs).toBe(waiting().deadlineAtMs);
    expect(again.lastEvent?.message).toContain("The device does not respond; waiting for it until");
    const late = T0 + HOUR_MS - 1;
    const last = change(again, markForOutcomeQuery(again, late, 2), late);
    const resent = change(last, applyOutcome(last, { status: null }, late, 2), late);
    const end = change(resent, expire(resent, at(late + ACK_MS)), late + ACK_MS);
    expect(factsOf(end)).toMatchObject({ status: "Fail", code: "DeviceNotReachable" });
  });

  test.each([-24 * HOUR_MS, 24 * HOUR_MS])(
    "gets its whole time once it is sent, also if the time of day has jumped by %s ms while it waited",
    (jump) => {
      // The time of day and the service time, after ten minutes.
      const time = { ...at(T0 + 600_000), nowMs: T0 + 600_000 + jump };
      const { nowMs, serviceNowMs } = time;
      const event = { device_seq: 1, status: "Running", message: "x", step: "pulling" } as const;
      for (const decided of [
        endWaitToSend(waiting(), nowMs),
        acknowledge(waiting(), nowMs, 1),
        applyDeviceEvent(waiting(), event, nowMs, 1),
      ]) {
        const sent = applyChange(waiting(), decided && completeChange(waiting(), decided, time));
        expect(factsOf(sent)).toMatchObject({ isWaiting: false, finishDueMs: serviceNowMs + TIMEOUT_MS });
      }
    },
  );

  test("leaves nothing to tell the device if it ends before it was ever sent", () => {
    const now = T0 + 600_000;
    const cancelled = change(waiting(), fail(waiting(), now, "DeploymentCancelled"), now);
    const over = change(waiting(), expire(waiting(), at(T0 + HOUR_MS)), T0 + HOUR_MS);
    for (const ended of [cancelled, over])
      expect(factsOf(ended)).toMatchObject({ status: "Fail", delivery: undefined });
    // The device may have what was sent and not acknowledged.
    const asked = change(waitingAgain(), markForOutcomeQuery(waitingAgain(), now, 1), now);
    const sent = change(asked, applyOutcome(asked, { status: null }, now, 1), now);
    const unsure = change(received(), expire(received(), at(T0 + ACK_MS)), T0 + ACK_MS);
    const resumed = change(received(), markUncertainOnStart(received(), now, ACK_MS), now);
    const again = change(sent, expire(sent, at(now + ACK_MS)), now + ACK_MS);
    for (const deployment of [unsure, resumed, again]) {
      expect(factsOf(deployment).isWaiting).toBe(true);
      const ended = change(deployment, expire(deployment, at(T0 + HOUR_MS)), T0 + HOUR_MS);
      expect(factsOf(ended)).toMatchObject({ status: "Fail", code: "DeviceNotReachable", delivery: "cancel" });
    }
  });

  test("is not said to be sent if the service was down at the end of its time", () => {
    const now = T0 + HOUR_MS + 1;
    const over = change(waiting(), markUncertainOnStart(waiting(), now, ACK_MS), now);
    expect(factsOf(over).uncertainty).toBe("overdue");
    const asked = change(over, markForOutcomeQuery(over, now + 1, 1), now + 1);
    expect(asked.lastEvent).toEqual(waiting().lastEvent);
    const lost = change(asked, applyOutcome(asked, { status: null }, now + 2, 1), now + 2);
    expect(factsOf(lost)).toMatchObject({ status: "Fail", code: "DeviceNotReachable", delivery: undefined });
    const held = change(asked, applyOutcome(asked, { status: "Running" }, now + 2, 1), now + 2);
    expect(factsOf(held)).toMatchObject({
      status: "Running",
      isWaiting: false,
      uncertainty: undefined,
      finishDueMs: now + 2 + TIMEOUT_MS,
    });
  });

  test("goes on waiting over a restart of the service", () => {
    expect(markUncertainOnStart(waiting(), T0 + 600_000, ACK_MS)).toBeUndefined();
    const unsent = received();
    const restarted = change(unsent, markUncertainOnStart(unsent, T0 + 600_000, ACK_MS), T0 + 600_000);
    expect(factsOf(restarted)).toMatchObject({ isWaiting: true, uncertainty: undefined });
    const over = change(waiting(), markUncertainOnStart(waiting(), T0 + 2 * HOUR_MS, ACK_MS), T0 + 2 * HOUR_MS);
    expect(factsOf(over).uncertainty).toBe("overdue");
  });

  test("goes on waiting over a restart while the device was being asked about it", () => {
    const now = T0 + 600_000;
    const asked = change(waitingAgain(), markForOutcomeQuery(waitingAgain(), now, 1), now);
    const later = now + 2 * ACK_MS;
    const restarted = change(asked, markUncertainOnStart(asked, later, ACK_MS), later);
    expect(factsOf(restarted)).toMatchObject({ isWaiting: true, uncertainty: "asked", replyDueMs: T0 + HOUR_MS });
    const again = change(restarted, markForOutcomeQuery(restarted, later, 2), later);
    expect(factsOf(change(again, applyOutcome(again, { status: null }, later, 2), later))).toMatchObject({
      delivery: "command",
    });
  });

  test("ends without being sent if it is cancelled before it is known whether the device has it", () => {
    const now = T0 + ACK_MS + 1;
    const cancelled = change(waitingAgain(), requestCancel(waitingAgain(), now), now);
    expect(pendingDeadlines(cancelled, ACK_MS).map(({ kind }) => kind)).toEqual(["finish", "cancel"]);
    const asked = change(cancelled, markForOutcomeQuery(cancelled, now + 1, 1), now + 1);
    expect(factsOf(asked)).toMatchObject({ isWaiting: false, lastEvent: cancelled.lastEvent });
    const ended = change(asked, applyOutcome(asked, { status: null }, now + 2, 1), now + 2);
    expect(factsOf(ended)).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
  });
});
