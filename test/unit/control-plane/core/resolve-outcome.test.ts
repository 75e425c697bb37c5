import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { connectedIn } from "../../../../src/control-plane/core/connection.ts";
import {
  type Deployment,
  isFinished,
  statusOf,
  type Uncertainty,
  uncertaintyOf,
} from "../../../../src/control-plane/core/deployment.ts";
import {
  type ReportedOutcome,
  markForOutcomeQuery,
  applyOutcome,
  markUncertainOnStart,
} from "../../../../src/control-plane/core/resolve-outcome.ts";
import { confirmOnDevice, noteConnectionLost } from "../../../../src/control-plane/core/connection-notes.ts";
import { pendingDeadlines } from "../../../../src/control-plane/core/deadlines.ts";
import { cancelReason, deliveryOf, reconcile } from "../../../../src/control-plane/core/delivery.ts";
import {
  acknowledge,
  replyToEvent,
  requestCancel,
  applyDeviceEvent,
} from "../../../../src/control-plane/core/transitions.ts";
import {
  acknowledged,
  applyChange,
  expireDeadline,
  factsOf,
  failed,
  receivedDeployment,
  SENDING,
  T0,
  uncertain,
} from "../../../support/deployment-record.ts";

const ACK_MS = 10_000;
const DAY_MS = 24 * 3_600_000;

const asked = (fields: Partial<Deployment> = {}): Deployment =>
  receivedDeployment({ state: uncertain("asked", acknowledged()), connection: connectedIn(2), ...fields });

const after = (deployment: Deployment, answer: ReportedOutcome): Deployment =>
  applyChange(deployment, applyOutcome(deployment, answer, T0, 2));

const states = fc.record({
  state: fc
    .tuple(
      fc.constantFrom<Uncertainty>("asked", "overdue", "backup", "restored"),
      fc.constantFrom(SENDING, acknowledged()),
    )
    .map(([uncertainty, progress]) => uncertain(uncertainty, progress)),
  cancelRequestedAtMs: fc.constantFrom(undefined, T0),
  connection: fc.record({ epoch: fc.integer({ min: 0, max: 2 }), isLost: fc.boolean() }),
});
const answers = fc.oneof(
  fc.constant<ReportedOutcome>("unavailable"),
  fc.record({
    status: fc.constantFrom("Running" as const, "Success" as const, "Fail" as const, null),
    message: fc.option(fc.string(), { nil: undefined }),
  }),
);

describe("for every reported outcome", () => {
  test("only a deployment without a record on the device is cancelled there, and never after a restore", () => {
    fc.assert(
      fc.property(states, answers, (state, answer) => {
        const wasCancelled = deliveryOf(after(receivedDeployment(state), answer)) === "cancel";
        const hasEnded = isFinished(after(receivedDeployment(state), answer));
        if (!wasCancelled || !hasEnded) return;
        expect(answer).toMatchObject({ status: null });
        expect(["asked", "overdue"]).toContain(state.state.uncertainty);
      }),
    );
  });

  test("a deployment that has ended on the device ends the same way, once; a running one continues", () => {
    fc.assert(
      fc.property(states, answers, (state, answer) => {
        const deployment = receivedDeployment(state);
        const result = after(deployment, answer);
        const isConnected = state.connection.epoch === 2 && !state.connection.isLost;
        if (!isConnected) expect(result).toEqual(deployment);
        if (!isConnected) return;
        if (answer === "unavailable" || answer.status === null) return;
        expect(statusOf(result)).toBe(answer.status);
        expect(applyOutcome(result, answer, T0, 2)).toBeUndefined();
        if (answer.status === "Running") expect(uncertaintyOf(result)).toBeUndefined();
        if (answer.status === "Running") return;
        expect(result.lastEvent).toMatchObject({ details: { recovered: true } });
        if (answer.message !== undefined && answer.message.length < 100) {
          expect(result.lastEvent?.message.startsWith(answer.message)).toBe(true);
        }
      }),
    );
  });

  test("only a command that the device never had is sent, and none after a restore", () => {
    fc.assert(
      fc.property(states, answers, (state, answer) => {
        if (deliveryOf(after(receivedDeployment(state), answer)) !== "command") return;
        expect(state).toMatchObject({
          state: { uncertainty: "asked", progress: { kind: "sending" } },
          cancelRequestedAtMs: undefined,
        });
        expect(answer).toMatchObject({ status: null });
      }),
    );
  });
});

test("a deployment that the device does not hold is not cancelled for that alone", () => {
  fc.assert(
    fc.property(fc.array(states, { maxLength: 5 }), (list) => {
      const unfinished = list.map((state, index) => receivedDeployment({ ...state, id: `dep_${index}` }));
      const kinds = reconcile(unfinished, []).map(({ kind }) => kind);
      expect(kinds).toEqual(list.map(() => "query_outcome"));
    }),
  );
});

test("an answer to a query of an earlier session changes nothing", () => {
  const later = applyChange(asked(), markForOutcomeQuery(asked(), T0, 3));
  expect(applyOutcome(later, { status: "Success" }, T0, 2)).toBeUndefined();
  const gone = applyChange(asked(), noteConnectionLost(asked(), T0, 2));
  expect(applyOutcome(gone, { status: null }, T0, 2)).toBeUndefined();
});

describe("after a restore", () => {
  const copy = receivedDeployment({ state: uncertain("backup", acknowledged()) });
  const later = T0 + 30 * DAY_MS;
  const restored = applyChange(copy, markUncertainOnStart(copy, later, ACK_MS));

  test("a deployment waits for its device for a week, however old the backup is, and reports that once", () => {
    expect(factsOf(restored)).toMatchObject({
      uncertainty: "restored",
      lastEvent: { details: { service: "restored" } },
    });
    expect(pendingDeadlines(restored, ACK_MS)).toEqual([
      { kind: "finish", sinceMs: T0, durationMs: later + 7 * DAY_MS - T0 },
    ]);
    expect(markUncertainOnStart(restored, later + 8 * DAY_MS, ACK_MS)).toBeUndefined();
  });

  test("it ends after that, and reports that its outcome is unknown", () => {
    const result = applyChange(restored, expireDeadline(restored, "finish", later));
    expect(factsOf(result)).toMatchObject({ status: "Fail", code: "DeploymentTimeout" });
    expect(result.lastEvent).toMatchObject({ details: { outcome: "unknown" } });
  });
});

const finishAt = (deployment: Deployment): number => {
  const [deadline, ...others] = pendingDeadlines(deployment, ACK_MS);
  expect(others).toEqual([]);
  if (!deadline) throw new Error("it has a deadline");
  return deadline.sinceMs + deadline.durationMs;
};

/** Each way in which a device can confirm that it holds a deployment. */
const confirmations = [
  (deployment: Deployment, nowMs: number) => acknowledge(deployment, nowMs, 2),
  (deployment: Deployment, nowMs: number) => confirmOnDevice(deployment, nowMs, 2),
  (deployment: Deployment, nowMs: number) =>
    applyDeviceEvent(deployment, { device_seq: 1, status: "Running", message: "x", step: "pulling" }, nowMs, 2),
  (deployment: Deployment, nowMs: number) =>
    applyOutcome({ ...deployment, connection: connectedIn(2) }, { status: "Running" }, nowMs, 2),
];

describe("a deployment with an uncertain outcome", () => {
  test("has at most the usual time after the device has confirmed it", () => {
    const copy = receivedDeployment({ state: uncertain("backup") });
    for (const restoredAt of [T0 + 1_000, T0 + 30 * DAY_MS]) {
      const restored = applyChange(copy, markUncertainOnStart(copy, restoredAt, ACK_MS));
      for (const confirm of confirmations) {
        const backAt = restoredAt + 1_000;
        expect(finishAt(applyChange(restored, confirm(restored, backAt)))).toBe(backAt + 900_000);
      }
    }
    const fresh = receivedDeployment();
    const overdue = applyChange(fresh, markUncertainOnStart(fresh, T0 + 20_000, ACK_MS));
    for (const confirm of confirmations) {
      expect(finishAt(applyChange(overdue, confirm(overdue, T0 + 30_000)))).toBe(fresh.deadlineAtMs);
    }
  });

  test("waits for one minute whichever deadline has passed, also over another restart", () => {
    for (const fields of [{}, { state: acknowledged(), cancelRequestedAtMs: T0 }]) {
      const deployment = receivedDeployment(fields);
      const at = T0 + 100_000;
      const taken = applyChange(deployment, markUncertainOnStart(deployment, at, ACK_MS));
      expect(finishAt(taken)).toBe(at + 60_000);
      expect(markUncertainOnStart(taken, at + 30_000, ACK_MS)).toBeUndefined();
    }
  });

  test("ends within a minute when cancelled after a restore, and nothing is undone", () => {
    const copy = receivedDeployment({ state: uncertain("backup", acknowledged()) });
    const restored = applyChange(copy, markUncertainOnStart(copy, T0 + DAY_MS, ACK_MS));
    const at = T0 + DAY_MS + 5_000;
    const cancelled = applyChange(restored, requestCancel(restored, at));
    expect(finishAt(cancelled)).toBe(at + 60_000);
    const result = applyChange(cancelled, expireDeadline(cancelled, "finish", at + 60_000));
    expect(factsOf(result)).toMatchObject({
      code: "DeploymentCancelled",
      lastEvent: { details: { outcome: "unknown" } },
    });
    expect(cancelReason(result)).toBeUndefined();
  });
});

test("a deployment that ended on a record from a backup without the device's report is not undone later", () => {
  const event = { device_seq: 1, status: "Success", message: "x", step: "done" } as const;
  for (const code of ["DeploymentTimeout", "DeploymentCancelled", "Internal"] as const) {
    for (const uncertainty of ["restored", "backup"] as const) {
      const given = receivedDeployment({ state: failed(code, uncertainty) });
      expect(reconcile([], [{ id: given.id, deployment: given }])).toEqual([]);
      expect(replyToEvent(given, event)).toBe("acknowledge");
    }
    const known = receivedDeployment({ state: failed(code, "overdue") });
    expect(reconcile([], [{ id: known.id, deployment: known }])).toMatchObject([{ kind: "cancel" }]);
    expect(replyToEvent(known, event)).toBe("cancel");
  }
});

const ended = (uncertainty: Uncertainty | undefined): Deployment =>
  receivedDeployment({ state: failed("DeploymentCancelled", uncertainty) });

describe("a deployment that ended before its device was queried", () => {
  test("is queried when the device is back, and cancelled if the device has no record of it", () => {
    for (const uncertainty of ["asked", "overdue"] as const) {
      const back = applyChange(ended(uncertainty), markForOutcomeQuery(ended(uncertainty), T0, 2));
      expect(deliveryOf(after(back, { status: null }))).toBe("cancel");
      for (const answer of ["unavailable", { status: "Success" }, { status: "Fail" }] as const) {
        expect(after(back, answer)).toMatchObject({ state: failed("DeploymentCancelled"), lastSeq: back.lastSeq });
      }
      const told = applyChange(back, applyOutcome(back, { status: null }, T0, 2));
      expect(factsOf(told)).toMatchObject({ status: "Fail", lastSeq: back.lastSeq });
      expect(markForOutcomeQuery(told, T0, 3)).toBeUndefined();
    }
  });

  test("is not queried if its outcome was certain, or the record is from a backup", () => {
    for (const uncertainty of [undefined, "restored", "backup"] as const)
      expect(markForOutcomeQuery(ended(uncertainty), T0, 2)).toBeUndefined();
  });
});

describe("a deployment that became overdue while the service was down", () => {
  test("waits a minute for its device, and then ends as it would have", () => {
    for (const [fields, code] of [
      [{}, "DeviceNotReachable"],
      [{ state: acknowledged() }, "DeploymentTimeout"],
      [{ state: acknowledged(), cancelRequestedAtMs: T0 }, "DeploymentCancelled"],
    ] as const) {
      const deployment = receivedDeployment(fields);
      const taken = applyChange(deployment, markUncertainOnStart(deployment, T0 + DAY_MS, ACK_MS));
      const [deadline, ...others] = pendingDeadlines(taken, ACK_MS);
      expect(others).toEqual([]);
      if (!deadline) throw new Error("it has a deadline");
      expect(deadline.sinceMs + deadline.durationMs).toBe(T0 + DAY_MS + 60_000);
      expect(expireDeadline(taken, "finish", T0)?.fields?.state).toMatchObject({ status: "Fail", code });
    }
  });

  test("is unchanged if it has time left", () => {
    expect(markUncertainOnStart(receivedDeployment({ state: acknowledged() }), T0 + 1_000, ACK_MS)).toBeUndefined();
  });
});
