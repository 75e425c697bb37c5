import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Deployment, OutcomeUncertainty } from "../../../../src/control-plane/core/deployment.ts";
import {
  type ReportedOutcome,
  outcomeFromReport,
  markForOutcomeQuery,
  applyOutcome,
  markUncertainOnStart,
} from "../../../../src/control-plane/core/resolve-outcome.ts";
import { confirmOnDevice, noteConnectionLost } from "../../../../src/control-plane/core/connection-notes.ts";
import { pendingDeadlines, expire } from "../../../../src/control-plane/core/deadlines.ts";
import { cancelReason, reconcile } from "../../../../src/control-plane/core/reconcile.ts";
import {
  acknowledge,
  replyToEvent,
  requestCancel,
  applyDeviceEvent,
} from "../../../../src/control-plane/core/transitions.ts";
import type { AppReport } from "../../../../src/protocol/app-report.ts";
import { applyChange, receivedDeployment, T0 } from "../../../support/deployment-record.ts";

const ACK_MS = 10_000;
const DAY_MS = 24 * 3_600_000;

const asked = (fields: Partial<Deployment> = {}): Deployment =>
  receivedDeployment({ acknowledgedAtMs: T0, connection: 4, uncertainty: "asked", ...fields });

const after = (deployment: Deployment, answer: ReportedOutcome): Deployment =>
  applyChange(deployment, applyOutcome(deployment, answer, T0, 2).change);

const states = fc.record({
  uncertainty: fc.constantFrom<OutcomeUncertainty>("asked", "overdue", "backup", "restored"),
  acknowledgedAtMs: fc.constantFrom(undefined, T0),
  cancelRequestedAtMs: fc.constantFrom(undefined, T0),
  connection: fc.integer({ min: 0, max: 5 }),
});
const answers = fc.oneof(
  fc.constant<ReportedOutcome>("unavailable"),
  fc.record({
    status: fc.constantFrom("Running" as const, "Success" as const, "Fail" as const, null),
    message: fc.option(fc.string(), { nil: undefined }),
  }),
);

describe("whatever a device answers", () => {
  test("it is told to undo only what it has nothing on record of, and never after a restore", () => {
    fc.assert(
      fc.property(states, answers, (state, answer) => {
        const { nextAction } = applyOutcome(receivedDeployment(state), answer, T0, 2);
        if (nextAction !== "cancel") return;
        expect(answer).toMatchObject({ status: null });
        expect(["asked", "overdue"]).toContain(state.uncertainty);
      }),
    );
  });

  test("what it says has ended ends so, once and with its words; what it says goes on goes on", () => {
    fc.assert(
      fc.property(states, answers, (state, answer) => {
        const deployment = receivedDeployment(state);
        const result = after(deployment, answer);
        if (state.connection !== 4) expect(result).toEqual(deployment);
        if (state.connection !== 4) return;
        if (answer === "unavailable" || answer.status === null) return;
        expect(result.status).toBe(answer.status);
        expect(applyOutcome(result, answer, T0, 2)).toEqual({});
        if (answer.status === "Running") expect(result.uncertainty).toBeUndefined();
        if (answer.status === "Running") return;
        expect(result.lastEvent).toMatchObject({ details: { recovered: true } });
        if (answer.message !== undefined && answer.message.length < 100) {
          expect(result.lastEvent?.message.startsWith(answer.message)).toBe(true);
        }
      }),
    );
  });

  test("only what it never had is sent, and nothing of a restored database", () => {
    fc.assert(
      fc.property(states, answers, (state, answer) => {
        const { nextAction } = applyOutcome(receivedDeployment(state), answer, T0, 2);
        if (nextAction !== "send") return;
        expect(state).toMatchObject({
          uncertainty: "asked",
          acknowledgedAtMs: undefined,
          cancelRequestedAtMs: undefined,
        });
        expect(answer).toMatchObject({ status: null });
      }),
    );
  });
});

test("nothing a device does not hold is cancelled by that alone", () => {
  fc.assert(
    fc.property(fc.array(states, { maxLength: 5 }), (list) => {
      const unfinished = list.map((state, index) => receivedDeployment({ ...state, id: `dep_${index}` }));
      const kinds = reconcile(unfinished, []).map(({ kind }) => kind);
      expect(kinds).toEqual(list.map(() => "query_outcome"));
    }),
  );
});

test("an answer to an earlier session's question changes nothing", () => {
  const later = applyChange(asked(), markForOutcomeQuery(asked(), T0, 3));
  expect(applyOutcome(later, { status: "Success" }, T0, 2)).toEqual({});
  const gone = applyChange(asked(), noteConnectionLost(asked(), T0, 2));
  expect(applyOutcome(gone, { status: null }, T0, 2)).toEqual({});
});

describe("after a restore", () => {
  const copy = receivedDeployment({ acknowledgedAtMs: T0, uncertainty: "backup" });
  const later = T0 + 30 * DAY_MS;
  const restored = applyChange(copy, markUncertainOnStart(copy, later, ACK_MS));

  test("a deployment waits for its device for a week, however long ago the backup was, and that is said once", () => {
    expect(restored).toMatchObject({ uncertainty: "restored", lastEvent: { details: { service: "restored" } } });
    expect(pendingDeadlines(restored, ACK_MS)).toEqual([
      { kind: "finish", sinceMs: T0, durationMs: later + 7 * DAY_MS - T0 },
    ]);
    expect(markUncertainOnStart(restored, later + 8 * DAY_MS, ACK_MS)).toBeUndefined();
  });

  test("it ends by itself after that, and says that its outcome is not known", () => {
    const [deadline] = pendingDeadlines(restored, ACK_MS);
    if (!deadline) throw new Error("it has a deadline");
    const result = applyChange(restored, expire(restored, deadline, later));
    expect(result).toMatchObject({ status: "Fail", code: "DeploymentTimeout" });
    expect(result.lastEvent).toMatchObject({ details: { outcome: "unknown" } });
  });
});

const finishAt = (deployment: Deployment): number => {
  const [deadline, ...others] = pendingDeadlines(deployment, ACK_MS);
  expect(others).toEqual([]);
  if (!deadline) throw new Error("it has a deadline");
  return deadline.sinceMs + deadline.durationMs;
};

/** The device's word that it holds it, in each of the ways it may come. */
const words = [
  (deployment: Deployment, nowMs: number) => acknowledge(deployment, nowMs, 2),
  (deployment: Deployment, nowMs: number) => confirmOnDevice(deployment, nowMs, 2),
  (deployment: Deployment, nowMs: number) =>
    applyDeviceEvent(deployment, { device_seq: 1, status: "Running", message: "x", step: "pulling" }, nowMs, 2),
  (deployment: Deployment, nowMs: number) =>
    applyOutcome({ ...deployment, connection: 4 }, { status: "Running" }, nowMs, 2).change,
];

describe("a deployment in doubt waits for its device, and not longer", () => {
  test("its grace ends with the device's word: it has no more than the usual time from then on", () => {
    const copy = receivedDeployment({ uncertainty: "backup" });
    for (const restoredAt of [T0 + 1_000, T0 + 30 * DAY_MS]) {
      const restored = applyChange(copy, markUncertainOnStart(copy, restoredAt, ACK_MS));
      for (const word of words) {
        const backAt = restoredAt + 1_000;
        expect(finishAt(applyChange(restored, word(restored, backAt)))).toBe(backAt + 900_000);
      }
    }
    const fresh = receivedDeployment();
    const overdue = applyChange(fresh, markUncertainOnStart(fresh, T0 + 20_000, ACK_MS));
    for (const word of words) {
      expect(finishAt(applyChange(overdue, word(overdue, T0 + 30_000)))).toBe(fresh.deadlineAtMs);
    }
  });

  test("whatever of its deadlines had passed, it waits for one minute, and through another restart", () => {
    for (const fields of [{}, { acknowledgedAtMs: T0, cancelRequestedAtMs: T0 }]) {
      const deployment = receivedDeployment(fields);
      const at = T0 + 100_000;
      const taken = applyChange(deployment, markUncertainOnStart(deployment, at, ACK_MS));
      expect(finishAt(taken)).toBe(at + 60_000);
      expect(markUncertainOnStart(taken, at + 30_000, ACK_MS)).toBeUndefined();
    }
  });

  test("cancelled after a restore it ends within a minute, and nothing is undone for that", () => {
    const copy = receivedDeployment({ acknowledgedAtMs: T0, uncertainty: "backup" });
    const restored = applyChange(copy, markUncertainOnStart(copy, T0 + DAY_MS, ACK_MS));
    const at = T0 + DAY_MS + 5_000;
    const cancelled = applyChange(restored, requestCancel(restored, at));
    expect(finishAt(cancelled)).toBe(at + 60_000);
    const [deadline] = pendingDeadlines(cancelled, ACK_MS);
    const result = applyChange(cancelled, expire(cancelled, deadline!, at + 60_000));
    expect(result).toMatchObject({ code: "DeploymentCancelled", lastEvent: { details: { outcome: "unknown" } } });
    expect(cancelReason(result)).toBeUndefined();
  });
});

test("what ended on a record from a backup without the device's word is left alone when it is back", () => {
  const event = { device_seq: 1, status: "Success", message: "x", step: "done" } as const;
  for (const code of ["DeploymentTimeout", "DeploymentCancelled", "Internal"] as const) {
    for (const uncertainty of ["restored", "backup"] as const) {
      const given = receivedDeployment({ status: "Fail", code, uncertainty });
      expect(reconcile([], [{ id: given.id, deployment: given }])).toEqual([]);
      expect(replyToEvent(given, event)).toBe("acknowledge");
    }
    const known = receivedDeployment({ status: "Fail", code, uncertainty: "overdue" });
    expect(reconcile([], [{ id: known.id, deployment: known }])).toMatchObject([{ kind: "cancel" }]);
    expect(replyToEvent(known, event)).toBe("cancel");
  }
});

const ended = (uncertainty: OutcomeUncertainty | undefined): Deployment =>
  receivedDeployment({ status: "Fail", code: "DeploymentCancelled", uncertainty });

describe("what ended before its device was asked", () => {
  test("is asked about when it is back, and undone where it has nothing on record of it", () => {
    for (const uncertainty of ["asked", "overdue"] as const) {
      const back = applyChange(ended(uncertainty), markForOutcomeQuery(ended(uncertainty), T0, 2));
      expect(applyOutcome(back, { status: null }, T0, 2)).toMatchObject({ nextAction: "cancel" });
      for (const answer of ["unavailable", { status: "Success" }, { status: "Fail" }] as const) {
        expect(applyOutcome(back, answer, T0, 2)).toEqual({ change: { fields: { uncertainty: undefined } } });
      }
      const told = applyChange(back, applyOutcome(back, { status: null }, T0, 2).change);
      expect(told).toMatchObject({ status: "Fail", lastSeq: back.lastSeq });
      expect(markForOutcomeQuery(told, T0, 3)).toBeUndefined();
    }
  });

  test("is not where nothing was in doubt, or the record is from a backup", () => {
    for (const uncertainty of [undefined, "restored", "backup"] as const)
      expect(markForOutcomeQuery(ended(uncertainty), T0, 2)).toBeUndefined();
  });
});

describe("what became overdue while the service was down", () => {
  test("waits a minute for its device before it ends as it would have", () => {
    for (const [fields, code] of [
      [{}, "DeviceNotReachable"],
      [{ acknowledgedAtMs: T0 }, "DeploymentTimeout"],
      [{ acknowledgedAtMs: T0, cancelRequestedAtMs: T0 }, "DeploymentCancelled"],
    ] as const) {
      const deployment = receivedDeployment(fields);
      const taken = applyChange(deployment, markUncertainOnStart(deployment, T0 + DAY_MS, ACK_MS));
      const [deadline, ...others] = pendingDeadlines(taken, ACK_MS);
      expect(others).toEqual([]);
      if (!deadline) throw new Error("it has a deadline");
      expect(deadline.sinceMs + deadline.durationMs).toBe(T0 + DAY_MS + 60_000);
      expect(expire(taken, deadline, T0)?.fields).toMatchObject({ status: "Fail", code });
    }
  });

  test("and what has time left is as it was", () => {
    expect(markUncertainOnStart(receivedDeployment({ acknowledgedAtMs: T0 }), T0 + 1_000, ACK_MS)).toBeUndefined();
  });
});

const report = (last: Partial<NonNullable<AppReport["last_deployment"]>> | null): AppReport[] => [
  { name: "web", last_deployment: last } as AppReport,
];

describe("what the report of an older agent tells", () => {
  test("its last deployment of the app has ended as it says", () => {
    expect(outcomeFromReport(asked(), report({ deployment_id: "dep_1", status: "Success" }))).toEqual({
      status: "Success",
    });
    expect(outcomeFromReport(asked(), report({ deployment_id: "dep_1", status: "Fail", code: "Unhealthy" }))).toEqual({
      status: "Fail",
      code: "Unhealthy",
    });
  });

  test("a removed app is removed", () => {
    expect(outcomeFromReport(asked({ action: "remove" }), [])).toMatchObject({ status: "Success" });
  });

  test("another deployment since leaves it open; none at all is a lost memory", () => {
    expect(outcomeFromReport(asked(), report({ deployment_id: "dep_2", status: "Success" }))).toBe("unavailable");
    expect(outcomeFromReport(asked(), report(null))).toEqual({ status: null });
  });
});
