import { describe, expect, test } from "vitest";
import {
  type Judgement,
  judgeMember,
  type MemberFacts,
  type MemberScope,
  type MemberTarget,
} from "../../../../../src/control-plane/core/fleets/judge-member.ts";
import type { AppReport } from "../../../../../src/protocol/apps/app-report.ts";
import { FLEET, modelGoal } from "../../../../support/fleets/model-revisions.ts";
import { aMarkedApp, anApp, NOW } from "../../../../support/fleets/records.ts";

const scope: MemberScope = {
  fleet: { name: FLEET, stableRevision: 2 },
  goalOf: (revision) => (revision < 9 ? { goal: modelGoal(revision, undefined), variables: ["SITE"] } : undefined),
};

const facts = (apps: readonly AppReport[] | undefined, fields: Partial<MemberFacts> = {}): MemberFacts => ({
  isConnected: true,
  lastSeenAtMs: NOW,
  agentVersion: "1.0.0",
  heldUntilMs: undefined,
  unacceptedSinceMs: undefined,
  conflicts: [],
  report: apps && { apps, atMs: NOW - 1_000 },
  targets: [],
  revision: 2,
  variableNames: new Set(["SITE"]),
  ...fields,
});

const aMemberTarget = (fields: Partial<MemberTarget> = {}): MemberTarget => ({
  kind: "rollout",
  rolloutState: "running",
  revision: 3,
  direction: "forward",
  state: "pending",
  waitsFor: undefined,
  dueMs: undefined,
  message: undefined,
  ...fields,
});

const judged = (
  apps: readonly AppReport[] | undefined,
  fields: Partial<MemberFacts> = {},
  before?: Pick<Judgement, "state" | "sinceMs"> & Partial<Pick<Judgement, "differences">>,
) => judgeMember(scope, facts(apps, fields), before, NOW);

const stopped = { desired_state: "stopped", state: "stopped" } as const;
const FOREIGN = { ...aMarkedApp(2), fleet: { name: "other", revision: 2, deployment_id: "d", is_changed: false } };

describe("a member is", () => {
  test.each<[string, string, readonly AppReport[] | undefined, Partial<MemberFacts>]>([
    ["current", "with what the stable revision says", [aMarkedApp(2)], {}],
    ["current", "on a device that does not know fleets", [anApp(2)], {}],
    ["current", "by its last report while it is away", [aMarkedApp(2)], { isConnected: false }],
    [
      "current",
      "with an app that is down, which is a matter of its own",
      [{ ...aMarkedApp(2), state: "unhealthy" }],
      {},
    ],
    ["drifted", "with an app that was changed on the device", [aMarkedApp(2, true)], {}],
    ["drifted", "with an app that another fleet has brought", [FOREIGN], {}],
    ["drifted", "with another image on a device that does not know fleets", [anApp(1)], {}],
    ["missing", "without an app that was there", [], {}],
    ["stopped_by_hand", "with an app that a person has stopped", [{ ...aMarkedApp(2), ...stopped }], {}],
    ["stopped_by_hand", "also where that app was changed as well", [{ ...aMarkedApp(2, true), ...stopped }], {}],
    ["outdated", "with another revision as a whole", [aMarkedApp(1)], {}],
    [
      "outdated",
      "with what it was last seen running, on a device that does not know fleets",
      [anApp(1)],
      { revision: 1 },
    ],
    ["outdated", "with a revision that is not on record any more", [aMarkedApp(9)], {}],
    ["held", "while people want it left alone, whatever it runs", [aMarkedApp(2, true)], { heldUntilMs: NOW + 1 }],
    ["current", "after the hold", [aMarkedApp(2)], { heldUntilMs: NOW }],
    ["conflict", "where another fleet owns an app", [aMarkedApp(2)], { conflicts: [{ app: "web", fleet: "other" }] }],
    [
      "updating",
      "during a deployment of the fleet",
      [aMarkedApp(2)],
      { targets: [aMemberTarget({ state: "deploying" })] },
    ],
    [
      "updating",
      "also while it is held",
      [],
      { heldUntilMs: Infinity, targets: [aMemberTarget({ state: "soaking" })] },
    ],
    ["current", "before its turn in a rollout", [aMarkedApp(2)], { targets: [aMemberTarget()] }],
    [
      "current",
      "with the revision of a rollout that has arrived",
      [aMarkedApp(3)],
      { targets: [aMemberTarget({ state: "succeeded" })] },
    ],
    [
      "outdated",
      "with the revision of a rollout that is over",
      [aMarkedApp(3)],
      { targets: [aMemberTarget({ state: "succeeded", rolloutState: "failed" })] },
    ],
    [
      "drifted",
      "also while a repair waits for its window",
      [aMarkedApp(2, true)],
      { targets: [aMemberTarget({ kind: "upkeep", state: "waiting", waitsFor: "window", revision: 2 })] },
    ],
  ])("%s %s", (state, _why, apps, fields) => {
    expect(judged(apps, fields).state).toBe(state);
  });
});

test.each<[string, readonly AppReport[] | undefined, Partial<MemberFacts>]>([
  ["connection", undefined, { isConnected: false, lastSeenAtMs: undefined, revision: undefined }],
  ["acceptance", [], { unacceptedSinceMs: NOW, revision: undefined }],
  ["acceptance", [], { unacceptedSinceMs: NOW }],
  ["variable", [], { revision: undefined, variableNames: new Set() }],
  ["rollout", [], { revision: undefined }],
  ["hold", [], { revision: undefined, targets: [aMemberTarget({ state: "waiting", waitsFor: "hold" })] }],
  [
    "window",
    [aMarkedApp(1)],
    { targets: [aMemberTarget({ kind: "upkeep", state: "waiting", waitsFor: "window", dueMs: NOW + 5 })] },
  ],
  ["budget", [aMarkedApp(1)], { targets: [aMemberTarget({ state: "waiting", waitsFor: "budget", dueMs: NOW + 5 })] }],
])("a member that is to get a revision waits for %s", (waitsFor, apps, fields) => {
  expect(judged(apps, fields)).toMatchObject({ state: "waiting", waitsFor });
});

test("a member of a fleet without a stable revision waits for a rollout", () => {
  const none = { ...scope, fleet: { ...scope.fleet, stableRevision: undefined } };
  const { state, waitsFor, message } = judgeMember(none, facts([], { revision: undefined }), undefined, NOW);
  expect({ state, waitsFor, message }).toEqual({
    state: "waiting",
    waitsFor: "rollout",
    message: "No revision of the fleet is stable yet.",
  });
});

describe("what differs", () => {
  test("is told with who changed it and when, as the device says", () => {
    const changed = { by: "local" as const, what: ["image"], since: NOW / 1000 - 600 };
    expect(judged([{ ...aMarkedApp(2, true), changed }])).toMatchObject({
      state: "drifted",
      sinceMs: NOW - 600_000,
      message: "web was changed on the device (image).",
      differences: [{ app: "web", kind: "changed", by: "local", sinceMs: NOW - 600_000 }],
    });
  });

  test("another tool that has replaced the container is one that has changed the app", () => {
    const changed = { by: "foreign" as const, what: ["image"] };
    for (const app of [aMarkedApp(2), { ...aMarkedApp(2, true), fleet: undefined }] as const)
      expect(judged([{ ...app, changed } as never])).toMatchObject({
        state: "drifted",
        differences: [{ by: "foreign" }],
      });
  });

  test.each([
    ["local-1", "local"],
    ["dep_7", "api"],
  ])("is known from the app's last deployment %s otherwise", (id, by) => {
    const last = { deployment_id: id, action: "stop", status: "Success", finished_at: NOW / 1000 - 60 } as const;
    expect(judged([{ ...aMarkedApp(2), ...stopped, last_deployment: last }]).differences).toMatchObject([
      { kind: "stopped", by, sinceMs: NOW - 60_000 },
    ]);
  });

  test("is not said to be done by whoever had the fleet's own deployment", () => {
    const last = { deployment_id: "dep_1.1", action: "update", status: "Success", finished_at: 1 } as const;
    expect(judged([{ ...aMarkedApp(2, true), last_deployment: last }]).differences).toMatchObject([{ by: undefined }]);
  });

  test("keeps the time at which it was seen first", () => {
    const before = { state: "drifted", sinceMs: NOW - 5_000 } as const;
    expect(judged([aMarkedApp(2, true)], {}, before).sinceMs).toBe(NOW - 5_000);
    expect(judged([aMarkedApp(2, true)], {}, { state: "current", sinceMs: 0 }).sinceMs).toBe(NOW - 1_000);
  });
});

describe("since when and by whom", () => {
  const removed = { name: "web", by: "local", since: NOW / 1000 - 7_200 } as const;

  test("an app is missing, its device says, or the service has noticed", () => {
    const report = { apps: [], removals: [removed], atMs: NOW - 1_000 };
    expect(judged(undefined, { report })).toMatchObject({
      state: "missing",
      sinceMs: NOW - 7_200_000,
      message: "web was removed.",
      differences: [{ kind: "missing", by: "local", sinceMs: NOW - 7_200_000 }],
    });
    // Such as after the device has lost its store.
    const noticed = judged([]);
    expect(noticed).toMatchObject({
      state: "missing",
      sinceMs: NOW - 1_000,
      message: "web is not there.",
      differences: [{ by: undefined, sinceMs: NOW - 1_000 }],
    });
    // A later report does not make it later.
    const later = { apps: [], atMs: NOW - 5 };
    expect(judged(undefined, { report: later }, noticed)).toMatchObject({
      sinceMs: NOW - 1_000,
      differences: [{ sinceMs: NOW - 1_000 }],
    });
  });

  test("whatever differs without a time of the device is dated by the report that told it first", () => {
    expect(judged([anApp(1)])).toMatchObject({
      state: "drifted",
      sinceMs: NOW - 1_000,
      differences: [{ kind: "differs", sinceMs: NOW - 1_000 }],
    });
  });

  test("what was removed before says nothing about an app that is there", () => {
    const report = { apps: [aMarkedApp(2)], removals: [removed], atMs: NOW - 1_000 };
    expect(judged(undefined, { report })).toMatchObject({ state: "current", differences: [] });
  });
});

test.each<[Partial<AppReport>, string | undefined]>([
  [{}, undefined],
  [{ state: "missing" }, "web is missing."],
  // Such as one that was paused with the engine's own command.
  [{ state: "stopped" }, "web is stopped."],
  [{ state: "restarting", restarts: 3 }, "web is restarting."],
])("a current member names an app that is not up: %j", (app, message) => {
  expect(judged([{ ...aMarkedApp(2), ...app }])).toMatchObject({ state: "current", message });
});

test("an outdated member names an app that is not up, such as after an earlier store of its agent was restored", () => {
  expect(judged([aMarkedApp(1)]).message).toBe("It runs revision 1.");
  expect(judged([{ ...aMarkedApp(1), state: "missing" }])).toMatchObject({
    state: "outdated",
    message: "It runs revision 1. web is missing.",
  });
});

test("a held member says why people hold it, and what differs", () => {
  const held = { heldUntilMs: Infinity, holdReason: "Pump test until Thursday." };
  expect(judged([aMarkedApp(2)], held).message).toBe("Held: Pump test until Thursday.");
  expect(judged([], held).message).toBe("Held: Pump test until Thursday. web is not there.");
  expect(judged([aMarkedApp(2)], { heldUntilMs: Infinity }).message).toBeUndefined();
});

describe("before any revision is stable", () => {
  const first: MemberScope = { ...scope, fleet: { name: FLEET, stableRevision: undefined } };
  const judge = (app: AppReport) => judgeMember(first, facts([app], { revision: undefined }), undefined, NOW);

  test("what people do to an app of a canary is told, also after its rollout", () => {
    expect(judge({ ...aMarkedApp(1), ...stopped })).toMatchObject({
      state: "stopped_by_hand",
      message: "web was stopped.",
    });
    expect(judge(aMarkedApp(1, true))).toMatchObject({ state: "drifted" });
  });

  test.each<[string, Partial<MemberTarget>]>([
    ["Its turn in the rollout of revision 1 has not come yet.", {}],
    ["The rollout of revision 1 is not started yet.", { rolloutState: "draft" }],
    ["The rollout of revision 1 awaits approval.", { rolloutState: "awaiting_approval" }],
    ["The rollout of revision 1 is paused.", { rolloutState: "paused" }],
    [
      "The rollout of revision 1 goes back; its turn has not come yet.",
      { rolloutState: "rolling_back", direction: "back" },
    ],
    ["It failed.", { message: "It failed." }],
    ["No revision of the fleet is stable yet.", { kind: "upkeep" }],
  ])("a member whose turn in a rollout has not come: %s", (message, target) => {
    const targets = [aMemberTarget({ revision: 1, ...target })];
    const member = judgeMember(first, facts([], { revision: undefined, targets }), undefined, NOW);
    expect(member).toMatchObject({ state: "waiting", waitsFor: "rollout", message });
  });

  test("a member waits for a revision otherwise", () => {
    const waits = { state: "waiting", waitsFor: "rollout", message: "No revision of the fleet is stable yet." };
    expect(judge(aMarkedApp(1))).toMatchObject(waits);
    expect(judge(anApp(1))).toMatchObject(waits);
    expect(judge(FOREIGN)).toMatchObject(waits);
  });
});
