import { expect, test } from "vitest";
import { isAmendment, pastAttempt } from "../../../../../src/control-plane/core/fleets/past-attempt.ts";
import { aTarget, NOW } from "../../../../support/fleets/records.ts";

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
