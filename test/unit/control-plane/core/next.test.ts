import { describe, expect, test } from "vitest";
import type { ChangeTime } from "../../../../src/control-plane/core/deadlines.ts";
import type { Deployment, NewDeployment, Progress } from "../../../../src/control-plane/core/deployment.ts";
import { begin, type Fact, next, type RequestFacts } from "../../../../src/control-plane/core/next.ts";
import type { DataPlanObstacle } from "../../../../src/control-plane/core/sims/plan-obstacle.ts";
import { commandOf, factsOf, T0, uncertain } from "../../../support/deployment-record.ts";

const ACK_MS = 10_000;
const TIMEOUT_MS = 900_000;
const HOUR_MS = 3_600_000;
const REQUEST: NewDeployment = {
  id: "dep_1",
  accountId: "acc_1",
  assetUuid: "asset",
  app: "web",
  command: commandOf("deploy", { name: "web", environments: [{ key: "A", value: "secret" }] }),
  options: {},
  hasRegistryAuth: true,
  nowMs: T0,
  timeoutMs: TIMEOUT_MS,
};
const CONNECTED: RequestFacts = { holder: "ins_1", obstacle: undefined, isAwaited: false };
const AWAY: RequestFacts = { ...CONNECTED, holder: undefined };
const SPENT: DataPlanObstacle = { effect: "wait", type: "supersim", allowanceBytes: 1, until: T0 / 1000 + 3_600 };

/** At this many milliseconds after the request. Service time began with the process. */
const at = (ms: number): ChangeTime => ({ nowMs: T0 + ms, serviceNowMs: ms, ackTimeoutMs: ACK_MS });

const messages = (events: readonly { readonly json: string }[]): string[] =>
  events.map(({ json }) => (JSON.parse(json) as { message: string }).message);

describe("a request", () => {
  test("of a connected device is received, and its device is told", () => {
    const { before, after, events, effects } = begin(REQUEST, CONNECTED, at(0));
    expect(before).toBeUndefined();
    expect(factsOf(after)).toMatchObject({
      version: 1,
      status: "Running",
      delivery: "command",
      holder: "ins_1",
      lastSeq: 1,
    });
    expect(after).toMatchObject({ finishDueMs: TIMEOUT_MS, replyDueMs: ACK_MS, command: REQUEST.command });
    expect(after.eventBytes).toBe(events[0]!.json.length);
    expect(messages(events)).toEqual(["Deployment received."]);
    expect(effects).toEqual([
      { kind: "arm_deadline", dueMs: ACK_MS },
      { kind: "wake", holder: "ins_1" },
    ]);
  });

  test("of a device that is away ends at once, and nothing is left to deliver", () => {
    const { after, events, effects } = begin(REQUEST, AWAY, at(0));
    expect(factsOf(after)).toMatchObject({ version: 2, status: "Fail", code: "DeviceNotReachable", lastSeq: 2 });
    expect(factsOf(after)).toMatchObject({ delivery: undefined, finishDueMs: undefined, replyDueMs: undefined });
    expect(JSON.stringify(after.command)).not.toContain("secret");
    expect(events.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(effects.map(({ kind }) => kind)).toEqual(["drop_credentials", "tell_streams", "log_end"]);
  });

  test("that waits for its device waits, with nobody to wake", () => {
    const { after, effects } = begin({ ...REQUEST, waitMs: HOUR_MS }, { ...AWAY, isAwaited: true }, at(0));
    expect(factsOf(after)).toMatchObject({
      status: "Running",
      isWaiting: true,
      delivery: "command",
      replyDueMs: HOUR_MS,
    });
    expect(after.finishDueMs).toBe(HOUR_MS + TIMEOUT_MS);
    expect(effects).toEqual([{ kind: "arm_deadline", dueMs: HOUR_MS }, { kind: "tell_streams" }]);
  });

  test("in whose way a data plan stands waits or is refused, as the plan says", () => {
    const waits = begin({ ...REQUEST, waitMs: HOUR_MS }, { ...CONNECTED, obstacle: SPENT }, at(0));
    expect(factsOf(waits.after)).toMatchObject({ status: "Running", isWaiting: true });
    // A client that does not wait hears that its device is away, not of the plan.
    const away = begin({ ...REQUEST, waitMs: HOUR_MS }, { ...AWAY, obstacle: SPENT }, at(0));
    expect(factsOf(away.after)).toMatchObject({ code: "DeviceNotReachable" });
    const urgent = begin(REQUEST, { ...CONNECTED, obstacle: { ...SPENT, effect: "refuse" } }, at(0));
    expect(factsOf(urgent.after)).toMatchObject({ code: "DataBudgetExceeded", delivery: undefined });
    expect(urgent.effects.some(({ kind }) => kind === "wake")).toBe(false);
  });
});

describe("a fact", () => {
  const sent = begin(REQUEST, CONNECTED, at(0)).after;
  const later = (deployment: Deployment, fact: Fact, ms = 5): Deployment => {
    const step = next(deployment, fact, at(ms));
    if (!step) throw new Error(`${fact.kind} changes nothing`);
    expect(step.before).toBe(deployment);
    expect(step.after).toMatchObject({
      version: deployment.version + 1,
      lastSeq: deployment.lastSeq + step.events.length,
    });
    return step.after;
  };
  const acknowledged = later(sent, { kind: "acknowledged", epoch: 1 });
  const ended = later(sent, { kind: "unsendable", code: "RegistryAuthLost" });

  test.each<Fact>([
    { kind: "acknowledged", epoch: 1 },
    { kind: "refused", code: "Internal", message: "x" },
    { kind: "held", epoch: 1 },
    { kind: "missing", epoch: 1 },
    { kind: "undone" },
    { kind: "outcome", outcome: { status: null }, epoch: 1 },
    { kind: "session_lost", epoch: 1 },
    { kind: "device_ready" },
    { kind: "plan_spent", obstacle: SPENT },
    { kind: "unsendable", code: "DeviceTooOld" },
    { kind: "never_sent" },
    { kind: "cancel_requested" },
    { kind: "asset_removed" },
    { kind: "deadline" },
    { kind: "stream_interrupted" },
  ])("that comes after the end changes nothing: $kind", (fact) => {
    expect(next(ended, fact, at(9))).toBeUndefined();
  });

  test("is applied once", () => {
    expect(next(acknowledged, { kind: "acknowledged", epoch: 1 }, at(9))).toBeUndefined();
    const cancelled = later(acknowledged, { kind: "cancel_requested" });
    expect(factsOf(cancelled)).toMatchObject({ delivery: "cancel", status: "Running" });
    expect(next(cancelled, { kind: "cancel_requested" }, at(9))).toBeUndefined();
  });

  test("about progress of an account that is over its quota is left out sooner", () => {
    const event = { device_seq: 1, age_ms: 0, status: "Running", step: "pulling", message: "x" } as const;
    const full = { ...acknowledged, eventBytes: 100_000, accountStoredBytes: 10 };
    const at10 = (maxAccountBytes: number) => next(full, { kind: "event", event, epoch: 1, maxAccountBytes }, at(9));
    expect(at10(11)?.after.omittedEvents).toBe(0);
    expect(at10(10)?.after.omittedEvents).toBe(1);
  });

  test("a cancellation ends a deployment whose device is away at once, unless the outcome is uncertain", () => {
    const away = { ...acknowledged, holder: undefined };
    expect(factsOf(later(away, { kind: "cancel_requested" }))).toMatchObject({
      code: "DeploymentCancelled",
      delivery: "cancel",
    });
    const unsure: Deployment = { ...away, state: uncertain("asked", acknowledged.state as Progress) };
    expect(factsOf(later(unsure, { kind: "cancel_requested" }))).toMatchObject({
      status: "Running",
      delivery: undefined,
    });
  });

  test("a start of the service measures the deadlines anew, also of a deployment that stays as it is", () => {
    const started = later(acknowledged, { kind: "service_started", isOtherDatabase: false }, 60_000);
    expect(factsOf(started)).toMatchObject({ status: "Running", uncertainty: undefined });
    const restarted = next(
      acknowledged,
      { kind: "service_started", isOtherDatabase: false },
      {
        ...at(60_000),
        serviceNowMs: 3,
      },
    );
    expect(restarted?.after.finishDueMs).toBe(3 + TIMEOUT_MS - 60_000);
    const copy = later(acknowledged, { kind: "service_started", isOtherDatabase: true }, 60_000);
    expect(factsOf(copy)).toMatchObject({ status: "Running", uncertainty: "restored", delivery: undefined });
  });
});
