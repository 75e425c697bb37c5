import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ReportedOutcome,
  markForOutcomeQuery,
  applyOutcome,
  markUncertainOnStart,
} from "../../../../src/control-plane/core/resolve-outcome.ts";
import {
  confirmOnDevice,
  noteConnectionLost,
  failMissingOnDevice,
  noteStreamInterrupted,
} from "../../../../src/control-plane/core/connection-notes.ts";
import {
  codeOf,
  type Deployment,
  type DeploymentChange,
  statusOf,
} from "../../../../src/control-plane/core/deployment.ts";
import { MAX_EVENTS, appendEvent } from "../../../../src/control-plane/core/event-log.ts";
import {
  acknowledge,
  fail,
  replyToEvent,
  requestCancel,
  applyDeviceEvent,
} from "../../../../src/control-plane/core/transitions.ts";
import { deploymentEventSchema, type DeviceEvent } from "../../../../src/protocol/deployments/deployment-event.ts";
import { DEFAULT_DEPLOYMENT_TIMEOUT_MS } from "../../../../src/protocol/limits.ts";
import {
  acknowledged,
  applyChange,
  expireDeadline,
  factsOf,
  receivedDeployment,
  T0,
} from "../../../support/deployment-record.ts";

const running: DeviceEvent = { status: "Running", message: "Working.", step: "pulling", device_seq: 1 };
const success: DeviceEvent = { status: "Success", message: "Done.", step: "done", device_seq: 2 };
const failure: DeviceEvent = {
  status: "Fail",
  message: "No.",
  step: "pulling",
  code: "ImagePullBackOff",
  device_seq: 2,
};

describe("for every sequence of changes", () => {
  const deviceEvent = fc.record({
    status: fc.constantFrom("Running" as const, "Success" as const, "Fail" as const),
    message: fc.string({ maxLength: 3000 }),
    step: fc.constantFrom("checking" as const, "pulling" as const),
    device_seq: fc.integer({ min: 1, max: 20 }),
    age_ms: fc.integer({ min: 0, max: 10 ** 12 }),
  });
  const epochs = fc.integer({ min: 1, max: 4 });
  const answers = fc.oneof(
    fc.constant<ReportedOutcome>("unavailable"),
    fc.constantFrom<ReportedOutcome>(
      { status: "Running" },
      { status: "Success" },
      { status: "Fail" },
      { status: null },
    ),
  );
  type Step = (deployment: Deployment, nowMs: number) => DeploymentChange | undefined;
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.tuple(deviceEvent, epochs).map(
      ([event, epoch]): Step =>
        (deployment, nowMs) =>
          applyDeviceEvent(deployment, event, nowMs, epoch),
    ),
    epochs.chain((epoch) =>
      fc.constantFrom(acknowledge, noteConnectionLost, confirmOnDevice, markForOutcomeQuery).map(
        (decide): Step =>
          (deployment, nowMs) =>
            decide(deployment, nowMs, epoch),
      ),
    ),
    fc.tuple(epochs, answers).map(
      ([epoch, answer]): Step =>
        (deployment, nowMs) =>
          applyOutcome(deployment, answer, nowMs, epoch),
    ),
    fc.constantFrom<Step>(
      (deployment, nowMs) => markUncertainOnStart(deployment, nowMs, 10_000),
      failMissingOnDevice,
      noteStreamInterrupted,
      requestCancel,
      (deployment, nowMs) => fail(deployment, nowMs, "Internal"),
      (deployment, nowMs) => expireDeadline(deployment, "reply", nowMs),
      (deployment, nowMs) => expireDeadline(deployment, "finish", nowMs),
    ),
  );

  test("events are numbered without gaps, never go back in time, and nothing follows the final one", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.integer({ min: -5000, max: 5000 })), { maxLength: 60 }), (steps) => {
        let deployment = receivedDeployment();
        let nowMs = T0;
        const events = [deployment.lastEvent];
        for (const [take, passed] of steps) {
          nowMs += passed;
          const change = take(deployment, nowMs);
          if (change?.event) events.push(change.event);
          deployment = applyChange(deployment, change);
        }
        for (const [index, event] of events.entries()) {
          expect(deploymentEventSchema.parse(event)).toEqual(event);
          expect(event?.seq).toBe(index + 1);
          expect(event?.timestamp).toBeGreaterThanOrEqual(events[index - 1]?.timestamp ?? 0);
          const isLast = index === events.length - 1;
          if (!isLast) expect(event?.status).toBe("Running");
          else expect(event?.status).toBe(statusOf(deployment));
        }
      }),
    );
  });
});

describe("events of the device", () => {
  test("the first one also acknowledges the command, and masks the values of the environment on record", () => {
    const after = applyChange(receivedDeployment(), applyDeviceEvent(receivedDeployment(), running, T0 + 5, 1));
    expect(factsOf(after)).toMatchObject({ acknowledgedAtMs: T0 + 5, lastDeviceSeq: 1, lastSeq: 2 });
    expect(after.command.spec).toEqual({ name: "web", environments: [{ key: "A", value: "***" }] });
  });

  test("one that is stored already changes nothing and is acknowledged again", () => {
    const held = applyChange(receivedDeployment(), applyDeviceEvent(receivedDeployment(), running, T0, 1));
    expect(applyDeviceEvent(held, running, T0, 1)).toBeUndefined();
    expect(replyToEvent(held, running)).toBe("acknowledge");
  });

  test("the final one is taken also from a device that has lost its store and numbers its events anew", () => {
    const held = applyChange(
      receivedDeployment(),
      applyDeviceEvent(receivedDeployment(), { ...running, device_seq: 7 }, T0, 1),
    );
    expect(applyDeviceEvent(held, running, T0, 2)).toBeUndefined();
    const ended = applyChange(held, applyDeviceEvent(held, failure, T0, 2));
    expect(factsOf(ended)).toMatchObject({ status: "Fail", code: "ImagePullBackOff", lastDeviceSeq: 7 });
    expect(applyDeviceEvent(ended, failure, T0, 2)?.event).toBeUndefined();
  });

  test("are dated by their age, but not before the event they follow", () => {
    const deployment = receivedDeployment();
    const date = (age_ms: number): number | undefined =>
      applyDeviceEvent(deployment, { ...running, age_ms }, T0 + 60_000, 1)?.event?.timestamp;
    expect(date(20_000)).toBe(T0 / 1000 + 40);
    expect(date(600_000)).toBe(T0 / 1000);
  });

  test("a success after the end is cancelled instead of acknowledged", () => {
    const failed = applyChange(receivedDeployment(), fail(receivedDeployment(), T0, "DeploymentTimeout"));
    expect(applyDeviceEvent(failed, success, T0, 1)).toBeUndefined();
    expect(replyToEvent(failed, success)).toBe("cancel");
    expect(replyToEvent(failed, failure)).toBe("acknowledge");
    expect(replyToEvent(failed, running)).toBe("acknowledge");
  });

  test("a success after a request to cancel is cancelled, and the failure that follows ends the deployment", () => {
    const cancelling = applyChange(receivedDeployment(), requestCancel(receivedDeployment(), T0));
    const untouched = applyChange(cancelling, applyDeviceEvent(cancelling, success, T0, 1));
    expect(untouched).toEqual(cancelling);
    expect(replyToEvent(untouched, success)).toBe("cancel");
    const undone = { ...failure, device_seq: 3, code: "DeploymentCancelled" as const };
    expect(factsOf(applyChange(cancelling, applyDeviceEvent(cancelling, undone, T0, 1)))).toMatchObject({
      status: "Fail",
      code: "DeploymentCancelled",
    });
  });

  test("progress beyond the maximum number of events is dropped, the final event is not", () => {
    const full = receivedDeployment({ lastSeq: MAX_EVENTS });
    expect(applyDeviceEvent(full, running, T0, 1)).toMatchObject({ fields: { lastDeviceSeq: 1 } });
    expect(applyDeviceEvent(full, running, T0, 1)?.event).toBeUndefined();
    expect(applyDeviceEvent(full, success, T0, 1)?.event?.seq).toBe(MAX_EVENTS + 1);
  });

  test("details that are too long are replaced by a note", () => {
    const details = { log: "x".repeat(40_000) };
    const event = appendEvent(receivedDeployment(), { ...failure, details }, T0)?.event;
    expect(event?.details).toEqual({ omitted: expect.stringContaining("too long") });
  });
});

const codeAfter = (deployment: Deployment) => codeOf(applyChange(deployment, failMissingOnDevice(deployment, T0)));

describe("the connection", () => {
  const held = receivedDeployment({ state: acknowledged() });

  test("is reported lost once, and back once", () => {
    const lost = applyChange(held, noteConnectionLost(held, T0, 1));
    expect(lost.lastEvent).toMatchObject({ status: "Running", details: { connection: "lost" } });
    expect(noteConnectionLost(lost, T0, 1)).toBeUndefined();
    const back = applyChange(lost, confirmOnDevice(lost, T0, 2));
    expect(back.lastEvent).toMatchObject({ status: "Running", details: { connection: "restored" } });
    expect(confirmOnDevice(back, T0, 2)).toBeUndefined();
  });

  test("is not reported lost by a replaced session, nor restored by one that has ended", () => {
    const taken = applyChange(held, confirmOnDevice(held, T0, 2));
    expect(noteConnectionLost(taken, T0, 1)).toBeUndefined();
    const lost = applyChange(taken, noteConnectionLost(taken, T0, 2));
    expect(lost.lastEvent?.details).toEqual({ connection: "lost" });
    expect(confirmOnDevice(lost, T0, 2)).toBeUndefined();
    expect(markForOutcomeQuery(lost, T0, 2)).toBeUndefined();
  });

  test("is reported restored after a loss, whatever events are in between", () => {
    const lost = applyChange(held, noteConnectionLost(held, T0, 1));
    const stopped = applyChange(lost, noteStreamInterrupted(lost, T0));
    expect(applyChange(stopped, noteConnectionLost(stopped, T0, 2)).lastEvent).toEqual(stopped.lastEvent);
    expect(confirmOnDevice(stopped, T0, 3)?.event?.details).toEqual({ connection: "restored" });
  });

  test("is not reported lost before the device has acknowledged the deployment", () => {
    expect(noteConnectionLost(receivedDeployment(), T0, 1)).toBeUndefined();
  });

  test("a deployment that the device no longer has fails, as cancelled if that was requested", () => {
    expect(codeAfter(held)).toBe("Internal");
    expect(codeAfter({ ...held, cancelRequestedAtMs: T0 })).toBe("DeploymentCancelled");
  });

  test("an interrupted stream says where it continues", () => {
    expect(noteStreamInterrupted(held, T0)?.event).toMatchObject({
      seq: 2,
      details: { resume: `/v1/assets/${held.assetUuid}/edge/deployments/dep_1/events?after=2` },
    });
  });
});

test("a failure decided by the control plane has the last step of the deployment", () => {
  const pulling = applyChange(receivedDeployment(), applyDeviceEvent(receivedDeployment(), running, T0, 1));
  expect(fail(pulling, T0, "DeploymentTimeout")?.event?.step).toBe("pulling");
});

test("the values of the environment are masked on record when the deployment ends, also if no device has had it", () => {
  const ended = applyChange(receivedDeployment(), fail(receivedDeployment(), T0, "DeviceNotReachable"));
  expect(ended.command.spec).toEqual({ name: "web", environments: [{ key: "A", value: "***" }] });
});

const waits = (waiting_s: unknown, more: Partial<DeviceEvent> = {}): DeviceEvent => ({
  ...running,
  ...more,
  details: { waiting_s },
});
const deadlineAfter = (event: DeviceEvent): number => {
  const deployment = receivedDeployment();
  const change = applyDeviceEvent(deployment, event, T0 + 1_000, 1);
  return change ? applyChange(deployment, change).deadlineAtMs : Number.NaN;
};

describe("a device that waits for its download window or data budget", () => {
  test("has the usual time again after it", () => {
    expect(deadlineAfter(waits(36_000))).toBe(T0 + 1_000 + 36_000_000 + DEFAULT_DEPLOYMENT_TIMEOUT_MS);
    expect(deadlineAfter(waits(36_000, { age_ms: 400 }))).toBe(T0 + 600 + 36_000_000 + DEFAULT_DEPLOYMENT_TIMEOUT_MS);
  });

  test("has it for a health check too, which the app asked to wait for", () => {
    const verifying = { ...waits(3_000), step: "verifying" } as const;
    expect(deadlineAfter(verifying)).toBe(T0 + 1_000 + 3_000_000 + DEFAULT_DEPLOYMENT_TIMEOUT_MS);
  });

  test.each([["soon"], [-1], [Number.NaN], [null], [undefined]])("gets no time for waiting_s %o", (waiting) => {
    expect(deadlineAfter(waits(waiting))).toBe(receivedDeployment().deadlineAtMs);
  });

  test("gets a limited time", () => {
    expect(deadlineAfter(waits(1e12))).toBeLessThan(T0 + 33 * 24 * 3_600_000);
    expect(deadlineAfter(waits(36_000, { status: "Fail", code: "Internal" }))).toBe(receivedDeployment().deadlineAtMs);
  });
});
