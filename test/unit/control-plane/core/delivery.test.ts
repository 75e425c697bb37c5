import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { confirmOnDevice, noteConnectionLost } from "../../../../src/control-plane/core/connection-notes.ts";
import { completeChange, completeNew, expire } from "../../../../src/control-plane/core/deadlines.ts";
import { cancelReason, deliveryOf, nextDelivery } from "../../../../src/control-plane/core/delivery.ts";
import {
  acknowledgedAtMsOf,
  type Deployment,
  type DeploymentChange,
  isFinished,
  uncertaintyOf,
} from "../../../../src/control-plane/core/deployment.ts";
import {
  applyOutcome,
  markForOutcomeQuery,
  markUncertainOnStart,
} from "../../../../src/control-plane/core/resolve-outcome.ts";
import {
  acknowledge,
  applyDeviceEvent,
  fail,
  refuse,
  replyToEvent,
  requestCancel,
} from "../../../../src/control-plane/core/transitions.ts";
import type { DeviceEvent } from "../../../../src/protocol/deployments/deployment-event.ts";
import {
  acknowledged,
  applyChange,
  factsOf,
  failed,
  receivedDeployment,
  SENDING,
  T0,
  uncertain,
} from "../../../support/deployment-record.ts";

const at = (nowMs: number) => ({ nowMs, serviceNowMs: nowMs, ackTimeoutMs: 10_000 });

const received = (): Deployment => completeNew(receivedDeployment(), at(T0));

const change = (deployment: Deployment, decided: DeploymentChange | undefined, nowMs = T0): Deployment =>
  applyChange(deployment, decided && completeChange(deployment, decided, at(nowMs)));

const eventOf = (status: DeviceEvent["status"], seq = 1): DeviceEvent => ({
  device_seq: seq,
  status,
  message: "x",
  step: "pulling",
  ...(status === "Fail" && { code: "ImagePullBackOff" as const }),
});

type Step = (deployment: Deployment, nowMs: number) => DeploymentChange | undefined;

const epochs = fc.integer({ min: 1, max: 3 });
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom("Running" as const, "Success" as const, "Fail" as const),
      fc.integer({ min: 1, max: 9 }),
      epochs,
    )
    .map(
      ([status, seq, epoch]): Step =>
        (deployment, nowMs) =>
          applyDeviceEvent(deployment, eventOf(status, seq), nowMs, epoch),
    ),
  epochs.chain((epoch) =>
    fc.constantFrom(acknowledge, noteConnectionLost, confirmOnDevice, markForOutcomeQuery).map(
      (decide): Step =>
        (deployment, nowMs) =>
          decide(deployment, nowMs, epoch),
    ),
  ),
  fc.tuple(epochs, fc.constantFrom("Running" as const, "Success" as const, "Fail" as const, null)).map(
    ([epoch, status]): Step =>
      (deployment, nowMs) =>
        applyOutcome(deployment, { status }, nowMs, epoch),
  ),
  fc.constantFrom<Step>(
    requestCancel,
    (deployment, nowMs) => fail(deployment, nowMs, "DeploymentCancelled"),
    (deployment, nowMs) => refuse(deployment, nowMs, "PolicyDenied", "no"),
    (deployment, nowMs) => markUncertainOnStart(deployment, nowMs, 10_000),
    (deployment, nowMs) => expire(deployment, at(nowMs)),
  ),
);

/** Applies the steps one after the other. */
const walk = (list: readonly (readonly [Step, number])[], look: (after: Deployment, before: Deployment) => void) => {
  let now = T0;
  let deployment = received();
  for (const [step, pause] of list) {
    now += pause;
    const before = deployment;
    deployment = change(before, step(before, now), now);
    look(deployment, before);
  }
};

/** A deployment that has timed out on a device which had acknowledged it. */
const ended = (): Deployment => {
  const held = change(received(), acknowledge(received(), T0, 1));
  return change(held, expire(held, at(T0 + 900_000)), T0 + 900_000);
};

describe("for every sequence of changes", () => {
  const sequence = fc.array(fc.tuple(steps, fc.integer({ min: 0, max: 20_000 })), { maxLength: 40 });

  test("a command waits exactly until the device has it, was asked about it, or must undo it", () => {
    fc.assert(
      fc.property(sequence, (list) =>
        walk(list, (after) => {
          const isUnsent = !isFinished(after) && acknowledgedAtMsOf(after) === undefined;
          const isCertain = uncertaintyOf(after) === undefined && after.cancelRequestedAtMs === undefined;
          expect(deliveryOf(after) === "command").toBe(isUnsent && isCertain);
        }),
      ),
    );
  });

  test("a cancellation waits only with a reason, and never while the outcome is uncertain", () => {
    fc.assert(
      fc.property(sequence, (list) =>
        walk(list, (after) => {
          if (deliveryOf(after) === "cancel") expect(cancelReason(after)).toBeDefined();
          if (uncertaintyOf(after) !== undefined) expect(deliveryOf(after)).toBeUndefined();
          const mustCancel = !isFinished(after) && after.cancelRequestedAtMs !== undefined;
          if (mustCancel && uncertaintyOf(after) === undefined) expect(deliveryOf(after)).toBe("cancel");
        }),
      ),
    );
  });

  test("a deadline is pending exactly until the end", () => {
    fc.assert(
      fc.property(sequence, (list) =>
        walk(list, (after) => expect(after.finishDueMs === undefined).toBe(isFinished(after))),
      ),
    );
  });
});

describe("a deployment that the service has ended", () => {
  test("is cancelled on the device until the device reports that it has undone it", () => {
    expect(factsOf(ended())).toMatchObject({ code: "DeploymentTimeout", delivery: "cancel" });
    const late = change(ended(), applyDeviceEvent(ended(), eventOf("Running"), T0, 1));
    expect(deliveryOf(late)).toBe("cancel");
    const success = change(ended(), applyDeviceEvent(ended(), eventOf("Success"), T0, 1));
    expect(replyToEvent(success, eventOf("Success"))).toBe("cancel");
    expect(deliveryOf(success)).toBe("cancel");
    const undone = change(ended(), applyDeviceEvent(ended(), eventOf("Fail"), T0, 1));
    expect(factsOf(undone)).toMatchObject({ status: "Fail", code: "DeploymentTimeout", delivery: undefined });
    expect(applyDeviceEvent(undone, eventOf("Fail", 2), T0, 1)).toBeUndefined();
  });

  test("is not cancelled if the device has refused it", () => {
    const refused = change(ended(), refuse(ended(), T0, "PolicyDenied", "no"));
    expect(factsOf(refused)).toMatchObject({ code: "DeploymentTimeout", delivery: undefined });
  });
});

test("nothing is to be delivered after the end that the device itself has reported", () => {
  for (const status of ["Success", "Fail"] as const) {
    const cancelled = change(received(), requestCancel(received(), T0));
    expect(deliveryOf(cancelled)).toBe("cancel");
    const deployment = status === "Fail" ? cancelled : received();
    const after = change(deployment, applyDeviceEvent(deployment, eventOf(status), T0, 1));
    expect(isFinished(after)).toBe(true);
    expect(deliveryOf(after)).toBeUndefined();
  }
});

const open = { cancelRequestedAtMs: undefined };
const cancelled = { cancelRequestedAtMs: T0 };

test("in one session each thing is sent once, and nothing while the outcome is uncertain", () => {
  expect(nextDelivery({ ...open, state: SENDING }, undefined)).toBe("command");
  expect(nextDelivery({ ...open, state: SENDING }, "command")).toBeUndefined();
  expect(nextDelivery({ ...cancelled, state: SENDING }, "command")).toBe("cancel");
  expect(nextDelivery({ ...cancelled, state: SENDING }, "cancel")).toBeUndefined();
  const fromBackup = uncertain("backup", { kind: "waiting", sendingSinceMs: undefined });
  expect(nextDelivery({ ...open, state: fromBackup }, undefined)).toBeUndefined();
  expect(nextDelivery({ ...cancelled, state: fromBackup }, undefined)).toBeUndefined();
});

test("what was cancelled before it was sent ends, and what the device may have is undone", () => {
  expect(nextDelivery({ ...cancelled, state: SENDING }, undefined)).toBe("end");
  expect(nextDelivery({ ...cancelled, state: acknowledged() }, undefined)).toBe("cancel");
  expect(nextDelivery({ ...open, state: failed("DeploymentCancelled", "undo") }, undefined)).toBe("cancel");
});

test("a wait ends when the device is connected, and a silent device is probed once", () => {
  const state = { kind: "waiting", sendingSinceMs: undefined } as const;
  expect(nextDelivery({ ...open, state }, undefined)).toBe("end_wait");
  expect(nextDelivery({ ...open, state }, "command")).toBe("probe");
  expect(nextDelivery({ ...open, state }, "probe")).toBeUndefined();
  expect(nextDelivery({ ...cancelled, state }, "probe")).toBe("cancel");
});
