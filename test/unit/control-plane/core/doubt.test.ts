import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Deployment, Doubt } from "../../../../src/control-plane/core/deployment.ts";
import { type Answer, answerFromReport, inquire, settle, takeUp } from "../../../../src/control-plane/core/doubt.ts";
import { connectionLost } from "../../../../src/control-plane/core/connection-remarks.ts";
import { deadlinesOf, expire } from "../../../../src/control-plane/core/deadlines.ts";
import { reconcile } from "../../../../src/control-plane/core/reconcile.ts";
import type { AppReport } from "../../../../src/protocol/app-report.ts";
import { applyChange, receivedDeployment, T0 } from "../../../support/deployment-record.ts";

const ACK_MS = 10_000;
const DAY_MS = 24 * 3_600_000;

const asked = (fields: Partial<Deployment> = {}): Deployment =>
  receivedDeployment({ acknowledgedAtMs: T0, connection: 4, doubt: "asked", ...fields });

const after = (deployment: Deployment, answer: Answer): Deployment =>
  applyChange(deployment, settle(deployment, answer, T0, 2).change);

const states = fc.record({
  doubt: fc.constantFrom<Doubt>("asked", "overdue", "backup", "restored"),
  acknowledgedAtMs: fc.constantFrom(undefined, T0),
  cancelRequestedAtMs: fc.constantFrom(undefined, T0),
  connection: fc.integer({ min: 0, max: 5 }),
});
const answers = fc.oneof(
  fc.constant<Answer>("unsure"),
  fc.record({
    status: fc.constantFrom("Running" as const, "Success" as const, "Fail" as const, null),
    message: fc.option(fc.string(), { nil: undefined }),
  }),
);

describe("whatever a device answers", () => {
  test("it is told to undo only what it has nothing on record of, and never after a restore", () => {
    fc.assert(
      fc.property(states, answers, (state, answer) => {
        const { next } = settle(receivedDeployment(state), answer, T0, 2);
        if (next !== "undo") return;
        expect(answer).toMatchObject({ status: null });
        expect(["asked", "overdue"]).toContain(state.doubt);
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
        if (answer === "unsure" || answer.status === null) return;
        expect(result.status).toBe(answer.status);
        expect(settle(result, answer, T0, 2)).toEqual({});
        if (answer.status === "Running") expect(result.doubt).toBeUndefined();
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
        const { next } = settle(receivedDeployment(state), answer, T0, 2);
        if (next !== "send") return;
        expect(state).toMatchObject({ doubt: "asked", acknowledgedAtMs: undefined, cancelRequestedAtMs: undefined });
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
      expect(kinds).toEqual(list.map(() => "ask"));
    }),
  );
});

test("an answer to an earlier session's question changes nothing", () => {
  const later = applyChange(asked(), inquire(asked(), T0, 3));
  expect(settle(later, { status: "Success" }, T0, 2)).toEqual({});
  const gone = applyChange(asked(), connectionLost(asked(), T0, 2));
  expect(settle(gone, { status: null }, T0, 2)).toEqual({});
});

describe("after a restore", () => {
  const copy = receivedDeployment({ acknowledgedAtMs: T0, doubt: "backup" });
  const later = T0 + 30 * DAY_MS;
  const restored = applyChange(copy, takeUp(copy, later, ACK_MS));

  test("a deployment waits for its device for a week, however long ago the backup was, and that is said once", () => {
    expect(restored).toMatchObject({ doubt: "restored", lastEvent: { details: { service: "restored" } } });
    expect(deadlinesOf(restored, ACK_MS)).toEqual([
      { kind: "finish", sinceMs: T0, durationMs: later + 7 * DAY_MS - T0 },
    ]);
    expect(takeUp(restored, later + 8 * DAY_MS, ACK_MS)).toBeUndefined();
  });

  test("it ends by itself after that, and says that its outcome is not known", () => {
    const [deadline] = deadlinesOf(restored, ACK_MS);
    if (!deadline) throw new Error("it has a deadline");
    const ended = applyChange(restored, expire(restored, deadline, later));
    expect(ended).toMatchObject({ status: "Fail", code: "DeploymentTimeout" });
    expect(ended.lastEvent).toMatchObject({ details: { outcome: "unknown" } });
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
      const taken = applyChange(deployment, takeUp(deployment, T0 + DAY_MS, ACK_MS));
      const [deadline, ...others] = deadlinesOf(taken, ACK_MS);
      expect(others).toEqual([]);
      if (!deadline) throw new Error("it has a deadline");
      expect(deadline.sinceMs + deadline.durationMs).toBe(T0 + DAY_MS + 60_000);
      expect(expire(taken, deadline, T0)?.fields).toMatchObject({ status: "Fail", code });
    }
  });

  test("and what has time left is as it was", () => {
    expect(takeUp(receivedDeployment({ acknowledgedAtMs: T0 }), T0 + 1_000, ACK_MS)).toBeUndefined();
  });
});

const report = (last: Partial<NonNullable<AppReport["last_deployment"]>> | null): AppReport[] => [
  { name: "web", last_deployment: last } as AppReport,
];

describe("what the report of an older agent tells", () => {
  test("its last deployment of the app has ended as it says", () => {
    expect(answerFromReport(asked(), report({ deployment_id: "dep_1", status: "Success" }))).toEqual({
      status: "Success",
    });
    expect(answerFromReport(asked(), report({ deployment_id: "dep_1", status: "Fail", code: "Unhealthy" }))).toEqual({
      status: "Fail",
      code: "Unhealthy",
    });
  });

  test("a removed app is removed", () => {
    expect(answerFromReport(asked({ action: "remove" }), [])).toMatchObject({ status: "Success" });
  });

  test("another deployment since leaves it open; none at all is a lost memory", () => {
    expect(answerFromReport(asked(), report({ deployment_id: "dep_2", status: "Success" }))).toBe("unsure");
    expect(answerFromReport(asked(), report(null))).toEqual({ status: null });
  });
});
