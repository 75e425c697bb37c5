import { expect, test } from "vitest";
import { pastAttempt } from "../../../../../src/control-plane/core/fleets/past-attempt.ts";
import { aTarget, NOW } from "../../../../support/fleets/records.ts";

const begun = aTarget({ state: "deploying", attempt: 2, deploymentId: "dep_2", begunAtMs: NOW - 9 });
const failed = { code: "CrashLoopBackOff", message: "It crashed.", sinceMs: NOW } as const;

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

test("what goes on, succeeds or was never begun does not", () => {
  expect(pastAttempt(begun, { ...begun, message: "43%" }, undefined)).toBeUndefined();
  expect(pastAttempt(begun, { ...begun, state: "soaking" }, undefined)).toBeUndefined();
  expect(pastAttempt({ ...begun, state: "soaking" }, { ...begun, state: "succeeded" }, undefined)).toBeUndefined();
  expect(pastAttempt(aTarget(), aTarget({ state: "refused", code: "DeviceTooOld" }), undefined)).toBeUndefined();
});

test("its words are bounded", () => {
  const long = { ...failed, message: "x".repeat(5_000) };
  const past = pastAttempt(begun, { ...begun, ...long, state: "failed" }, "y".repeat(50_000));
  expect([past?.message?.length, past?.logs?.length]).toEqual([1_000, 2_000]);
});
