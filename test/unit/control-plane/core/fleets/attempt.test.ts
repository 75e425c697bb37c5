import { expect, test } from "vitest";
import {
  attemptRequest,
  isAmendment,
  neededVariables,
  pastAttempt,
} from "../../../../../src/control-plane/core/fleets/attempt.ts";
import { goalOf, type RevisionContent } from "../../../../../src/control-plane/core/fleets/fleet.ts";
import { applySchema } from "../../../../../src/protocol/apps/apply.ts";
import { contentOf, imageOf, modelGoal } from "../../../../support/fleets/model-revisions.ts";
import { aTarget, NOW } from "../../../../support/fleets/records.ts";

const variables = new Map([
  ["SITE", { value: "pump-7", isSecret: false }],
  ["TOKEN", { value: "geheim", isSecret: true }],
]);

/** A revision with two apps. */
const content: RevisionContent = applySchema.parse({
  project: "kiosk",
  apps: [
    { app: { name: "broker", image: imageOf(7) } },
    {
      app: {
        name: "web",
        image: imageOf(2),
        environments: [
          { key: "URL", value: "https://${SITE}.example.com" },
          { key: "AUTH", value: "Bearer ${TOKEN}" },
          { key: "ALONE", value: "${TOKEN}" },
          { key: "RAW", value: "$${SITE}" },
        ],
      },
      depends_on: [{ app: "broker", condition: "healthy" }],
    },
  ],
});

const input = {
  goal: goalOf("kiosk", 2, content),
  revisions: [content, contentOf(1)],
  variables,
  strategy: {},
};

test("an attempt has the apps with variables put in, and what keeps the way back open", () => {
  const result = attemptRequest({ ...input, strategy: { max_download_bytes: 1_000 } });
  expect(result).toMatchObject({
    kind: "request",
    request: {
      project: "kiosk",
      adopt: true,
      prune: false,
      max_download_bytes: 1_000,
      fleet: { name: "kiosk", revision: 2 },
      keep_images: [imageOf(7), imageOf(2), imageOf(1)],
    },
  });
  if (result.kind !== "request") return;
  expect(result.request.apps[1]?.app.environments).toEqual([
    { key: "URL", value: "https://pump-7.example.com" },
    { key: "AUTH", value: "Bearer geheim", secret: true, secret_parts: ["geheim"] },
    { key: "ALONE", value: "geheim", secret: true },
    { key: "RAW", value: "${SITE}" },
  ]);
  expect(result.request.apps[1]?.depends_on).toEqual([{ app: "broker", condition: "healthy" }]);
  expect(result.request).not.toHaveProperty("remove");
});

test("an app that is new is removed going back, and one that is missing in the new revision stays", () => {
  const back = goalOf("kiosk", 1, contentOf(1), content);
  expect(attemptRequest({ ...input, goal: back })).toMatchObject({
    request: { remove: ["broker"], fleet: { revision: 1 } },
  });
  const none = attemptRequest({ ...input, goal: modelGoal(undefined, 2) });
  expect(none).toMatchObject({ request: { apps: [], remove: ["web"] } });
  expect(none).not.toHaveProperty("request.fleet");
});

test("missing variables are named, each once", () => {
  expect(neededVariables(input.goal)).toEqual(["SITE", "TOKEN"]);
  expect(attemptRequest({ ...input, variables: new Map() })).toEqual({
    kind: "missing_variables",
    names: ["SITE", "TOKEN"],
  });
});

const begun = aTarget({ state: "deploying", attempt: 2, deploymentId: "dep_2", begunAtMs: NOW - 9 });
const failed = { code: "CrashLoopBackOff", message: "It crashed.", sinceMs: NOW, failedAttempts: 1 } as const;

test("an attempt that fails stays on record, with what the device has told of it", () => {
  const past = {
    direction: "forward",
    attempt: 2,
    state: "failed",
    code: "CrashLoopBackOff",
    message: "It crashed.",
    deploymentId: "dep_2",
    begunAtMs: NOW - 9,
    endedAtMs: NOW,
    logs: "no such table",
  };
  expect(pastAttempt(begun, { ...begun, ...failed, state: "failed" }, "no such table")).toEqual(past);
  // The next one follows.
  const next = { ...begun, ...failed, state: "pending", deploymentId: undefined } as const;
  expect(pastAttempt(begun, next, "no such table")).toEqual(past);
});

test("what the rollout goes back from stays on record, whatever became of it", () => {
  const succeeded = { ...begun, state: "succeeded", sinceMs: NOW - 5 } as const;
  const turned = { ...succeeded, direction: "back", state: "pending", attempt: 0, deploymentId: undefined } as const;
  expect(pastAttempt(succeeded, turned, undefined)).toMatchObject({
    direction: "forward",
    attempt: 2,
    state: "succeeded",
    deploymentId: "dep_2",
    endedAtMs: NOW - 5,
  });
});

test("an attempt that says nothing about the revision is no failure: the service was restarted, and the device not back yet", () => {
  const back = { ...begun, direction: "back", attempt: 1 } as const;
  const unreached = { code: "DeviceNotReachable", message: "Device not reachable.", sinceMs: NOW } as const;
  const repeated = { ...back, ...unreached, state: "pending", deploymentId: undefined } as const;
  const past = {
    direction: "back",
    attempt: 1,
    state: "not_counted",
    code: "DeviceNotReachable",
    deploymentId: "dep_2",
  };
  expect(pastAttempt(back, repeated, undefined)).toMatchObject(past);
  // As the last one of a rollout that is over, after one that has failed.
  const earlier = { ...back, attempt: 2, failedAttempts: 1 } as const;
  expect(pastAttempt(earlier, { ...earlier, ...unreached, state: "failed" }, undefined)).toMatchObject({
    attempt: 2,
    state: "not_counted",
  });
  // What fails while it soaks is one.
  const soaking = { ...earlier, state: "soaking" } as const;
  expect(pastAttempt(soaking, { ...soaking, ...unreached, state: "failed" }, undefined)).toMatchObject({
    state: "failed",
  });
});

test.each([
  { state: "pending", waitsFor: undefined },
  { state: "deferred", waitsFor: undefined },
  { state: "waiting", waitsFor: "connection" },
] as const)("what has failed already stays so when the target goes back from $state", (between) => {
  const target = { ...begun, ...between, code: "CrashLoopBackOff", failedAttempts: 1 } as const;
  const turned = { ...target, direction: "back", state: "pending", attempt: 0, code: undefined } as const;
  expect(pastAttempt(target, turned, undefined)).toBeUndefined();
});

test("one that is under way, waiting for a budget, is kept when the target goes back", () => {
  const target = { ...begun, state: "waiting", waitsFor: "budget" } as const;
  const turned = { ...target, direction: "back", state: "pending", waitsFor: undefined, attempt: 0 } as const;
  expect(pastAttempt(target, turned, undefined)).toMatchObject({ state: "waiting", attempt: 2 });
});

test("one that succeeds after all only corrects what is on record of it", () => {
  const soaking = { ...begun, state: "soaking" } as const;
  for (const state of ["succeeded", "rolled_back"] as const) {
    const after = { ...soaking, state, sinceMs: NOW + 5 };
    const past = pastAttempt(soaking, after, undefined);
    expect(past).toMatchObject({ state, attempt: 2, endedAtMs: NOW + 5 });
    expect(past && isAmendment(past, soaking, after)).toBe(true);
  }
  // What the rollout goes back from is kept.
  const succeeded = { ...begun, state: "succeeded" } as const;
  const turned = { ...succeeded, direction: "back", state: "pending", attempt: 0 } as const;
  const past = pastAttempt(succeeded, turned, undefined);
  expect(past && isAmendment(past, succeeded, turned)).toBe(false);
});

test("what goes on or was never begun does not", () => {
  expect(pastAttempt(begun, { ...begun, message: "43%" }, undefined)).toBeUndefined();
  expect(pastAttempt(begun, { ...begun, state: "soaking" }, undefined)).toBeUndefined();
  expect(pastAttempt(aTarget(), aTarget({ state: "refused", code: "DeviceTooOld" }), undefined)).toBeUndefined();
});

test("its words are bounded", () => {
  const long = { ...failed, message: "x".repeat(5_000) };
  const past = pastAttempt(begun, { ...begun, ...long, state: "failed" }, "y".repeat(50_000));
  expect([past?.message?.length, past?.logs?.length]).toEqual([1_000, 2_000]);
});
