import { describe, expect, test } from "vitest";
import { attemptKey } from "../../../../../src/control-plane/core/fleets/attempt.ts";
import { beginAttempt } from "../../../../../src/control-plane/core/fleets/decide-begin.ts";
import { decideTarget } from "../../../../../src/control-plane/core/fleets/decide-target.ts";
import type { TargetFacts } from "../../../../../src/control-plane/core/fleets/target-decision.ts";
import type { Target } from "../../../../../src/control-plane/core/fleets/rollout.ts";
import { FLEET, modelGoal } from "../../../../support/fleets/model-revisions.ts";
import {
  aDeployment,
  aMarkedApp,
  anApp,
  aReport,
  aRollout,
  aSoakingTarget,
  aTarget,
  context,
  facts,
  NOW,
} from "../../../../support/fleets/records.ts";

const HOUR_MS = 3_600_000;

const decided = (target: Target, known: Partial<TargetFacts> = {}, within = context(), nowMs = NOW) =>
  decideTarget(target, facts(known), within, nowMs);

const begun = (fields: Partial<Target> = {}): Target =>
  aTarget({ ...beginAttempt(aTarget(), NOW), deploymentId: "dep_1", ...fields });

describe("a target that waits for its turn", () => {
  test("begins when nothing is in its way", () => {
    expect(decided(aTarget())).toEqual({ kind: "begin", otherwise: {} });
    const waiting = aTarget({ state: "waiting", waitsFor: "window", dueMs: NOW, message: "…" });
    expect(decided(waiting)).toMatchObject({ kind: "begin", otherwise: { state: "pending", waitsFor: undefined } });
  });

  test("is skipped if the revision has nothing for it", () => {
    const { goals, ...rest } = context();
    const nothing = { ...goals, forward: { ...goals.forward, apps: [] } };
    expect(decided(aTarget(), {}, { ...rest, goals: nothing })).toMatchObject({ fields: { state: "skipped" } });
  });

  test("stays pending until its wave is entered, whatever its device does", () => {
    expect(decided(aTarget({ wave: 1 }), { isConnected: false })).toEqual({ kind: "nothing" });
  });

  test.each([
    ["hold", { heldUntilMs: NOW + HOUR_MS }, NOW + HOUR_MS],
    ["hold", { heldUntilMs: Infinity }, NOW + 72 * HOUR_MS],
    // As one that is away: nobody waits for it longer than for that.
    ["acceptance", { unacceptedSinceMs: NOW - HOUR_MS }, NOW + 71 * HOUR_MS],
    ["connection", { unacceptedSinceMs: NOW, isConnected: false, lastSeenAtMs: NOW }, NOW + 72 * HOUR_MS],
    ["conflict", { conflicts: [{ app: "web", fleet: "b" }] }, NOW + 72 * HOUR_MS],
    ["deployment", { isBusy: true }, NOW + 60_000],
    ["connection", { isConnected: false, lastSeenAtMs: NOW - HOUR_MS }, NOW + 71 * HOUR_MS],
  ] as const)("waits for %s, and is due when that may be over", (waitsFor, known, dueMs) => {
    expect(decided(aTarget(), known)).toMatchObject({ kind: "change", fields: { state: "waiting", waitsFor, dueMs } });
  });

  test("waits for its window, and for the zone of its device", () => {
    const closed = context(aRollout(), { window: { kind: "closed", opensAtMs: NOW + HOUR_MS } });
    expect(decided(aTarget(), {}, closed)).toMatchObject({ fields: { waitsFor: "window", dueMs: NOW + HOUR_MS } });
    const unknown = context(aRollout(), { window: { kind: "unknown_zone", opensAtMs: undefined } });
    expect(decided(aTarget(), {}, unknown)).toMatchObject({ fields: { waitsFor: "clock" } });
    // Going back does not wait for windows.
    const back = { ...closed, rollout: aRollout({ state: "rolling_back" }) };
    expect(decided(aTarget({ direction: "back" }), {}, back).kind).toBe("begin");
  });

  test("is deferred once its device was away for long, and served on its return", () => {
    const away = { isConnected: false, lastSeenAtMs: NOW - 100 * HOUR_MS };
    expect(decided(aTarget(), away)).toMatchObject({ fields: { state: "deferred", awaySinceMs: away.lastSeenAtMs } });
    expect(decided(aTarget(), { isConnected: false, lastSeenAtMs: undefined })).toMatchObject({
      fields: { state: "deferred" },
    });
    expect(decided(aTarget({ state: "deferred" }))).toMatchObject({ kind: "begin", otherwise: { state: "pending" } });
  });

  test("does not wait for ever for a device that is never there when the windows are open", () => {
    const strategy = { windows: [{ from: "02:00", to: "03:00" }] };
    const closed = context(aRollout({}, strategy), { window: { kind: "closed", opensAtMs: NOW + 20 * 24 * HOUR_MS } });
    const waiting = aTarget({ state: "waiting", waitsFor: "window" });
    expect(decided(waiting, {}, closed, NOW + 9 * 24 * HOUR_MS)).toMatchObject({
      fields: { dueMs: NOW + 10 * 24 * HOUR_MS },
    });
    expect(decided(waiting, {}, closed, NOW + 10 * 24 * HOUR_MS)).toMatchObject({ fields: { state: "deferred" } });
  });

  test("waits for variables, which people set, and goes on once they are there", () => {
    const missing = { missingVariables: ["SITE", "KEY"], isConnected: false };
    const lacking = decided(aTarget(), missing);
    expect(lacking).toMatchObject({ fields: { state: "waiting", waitsFor: "variable", dueMs: NOW + 72 * HOUR_MS } });
    expect(lacking).toHaveProperty("fields.message", expect.stringContaining("SITE, KEY"));
    const waiting = aTarget({ state: "waiting", waitsFor: "variable", dueMs: NOW + 72 * HOUR_MS });
    expect(decided(waiting, missing, context(), NOW + 72 * HOUR_MS)).toMatchObject({ fields: { state: "deferred" } });
    expect(decided(waiting, {}).kind).toBe("begin");
    // Nobody waits for a device that was never there.
    expect(decided(aTarget(), { ...missing, lastSeenAtMs: undefined })).toMatchObject({
      fields: { state: "deferred" },
    });
  });

  test("is refused with an agent that is too old", () => {
    const protocols = { current: 3, oldest: 1, added: { environments: 2, "apply.remove": 3 } };
    const adding = context(aRollout(), { protocols });
    expect(decided(aTarget(), { protocol: 1 }, adding)).toMatchObject({
      fields: { state: "refused", code: "DeviceTooOld", message: expect.stringContaining('"environments"') },
    });
    expect(decided(aTarget(), { protocol: 2 }, adding).kind).toBe("begin");
    const goals = { forward: modelGoal(undefined, 1), back: modelGoal(1, undefined) };
    const removing = context(aRollout(), { goals, protocols });
    expect(decided(aTarget(), { protocol: 2 }, removing)).toMatchObject({ fields: { code: "DeviceTooOld" } });
    expect(decided(aTarget(), { protocol: 3 }, removing).kind).toBe("begin");
    // A device that was never there may be any.
    expect(decided(aTarget(), { protocol: undefined }, adding).kind).toBe("begin");
  });

  test("is skipped when its asset has left, or its rollout has ended", () => {
    expect(decided(aTarget(), { isMember: false })).toMatchObject({ fields: { state: "skipped" } });
    const over = context(aRollout({ state: "superseded" }));
    expect(decided(aTarget(), {}, over)).toMatchObject({ fields: { state: "skipped" } });
    expect(decided(aTarget({ failedAttempts: 1 }), {}, over)).toMatchObject({ fields: { state: "failed" } });
    expect(decided(aTarget({ state: "deferred" }), {}, over)).toEqual({ kind: "nothing" });
    // The upkeep serves what a rollout leaves that has succeeded on enough.
    const done = context(aRollout({ state: "succeeded" }));
    const held = aTarget({ state: "waiting", waitsFor: "hold", dueMs: NOW });
    expect(decided(held, {}, done)).toMatchObject({ fields: { state: "deferred", dueMs: undefined } });
  });

  test("pauses longer before each further attempt", () => {
    const failed = (count: number) =>
      decided(aTarget({ attempt: count, failedAttempts: count, code: "CrashLoopBackOff" }));
    expect(failed(1)).toMatchObject({ fields: { dueMs: NOW + 60_000 } });
    expect(failed(3)).toMatchObject({ fields: { dueMs: NOW + 240_000 } });
    expect(failed(30)).toMatchObject({ fields: { dueMs: NOW + HOUR_MS } });
    const target = aTarget({ attempt: 1, failedAttempts: 1, code: "CrashLoopBackOff" });
    expect(decided(target, {}, context(), NOW + 60_000).kind).toBe("begin");
  });

  test("pauses only shortly after an attempt that did not reach its device", () => {
    const code = "DeviceNotReachable";
    expect(decided(aTarget({ attempt: 1, code }))).toMatchObject({ fields: { dueMs: NOW + 5_000 } });
    expect(decided(aTarget({ attempt: 3, code }))).toMatchObject({ fields: { dueMs: NOW + 20_000 } });
    // The longer of the two pauses.
    expect(decided(aTarget({ attempt: 2, failedAttempts: 1, code }))).toMatchObject({
      fields: { dueMs: NOW + 60_000 },
    });
  });
});

describe("a target with an attempt", () => {
  test("gets its deployment after a crash, under the same key", () => {
    expect(decided(begun({ deploymentId: undefined }))).toEqual({ kind: "request" });
    expect(attemptKey(begun())).toBe(` rollout:rol_1:${NOW}:asset-1:forward:1`);
    expect(attemptKey(begun({ direction: "back" }))).not.toBe(attemptKey(begun()));
    // The first attempt of a target that was removed and made anew.
    expect(attemptKey(begun({ begunAtMs: NOW + 1 }))).not.toBe(attemptKey(begun()));
  });

  test("waits for the budget of its device, and is due after that", () => {
    const deployment = aDeployment({ status: "Running", putOffUntilMs: NOW + HOUR_MS });
    const expected = { state: "waiting", waitsFor: "budget", dueMs: NOW + HOUR_MS };
    expect(decided(begun(), { deployment })).toMatchObject({ fields: expected });
    const later = decided(begun(expected as Partial<Target>), { deployment }, context(), NOW + HOUR_MS);
    expect(later).toMatchObject({ fields: { state: "deploying" } });
  });

  test("is lost when its device vanishes for long, whether or not the service has given the deployment up", () => {
    const away = { isConnected: false, lastSeenAtMs: NOW + 1_000 };
    for (const deployment of [
      aDeployment({ status: "Running" }),
      aDeployment({ status: "Fail", code: "DeploymentTimeout" }),
    ]) {
      const dueMs = NOW + 1_000 + 1_800_000;
      expect(decided(begun(), { ...away, deployment })).toMatchObject({ fields: { dueMs, awaySinceMs: NOW + 1_000 } });
      expect(decided(begun(), { ...away, deployment }, context(), dueMs)).toMatchObject({ fields: { state: "lost" } });
    }
  });

  test("goes on when a lost device returns", () => {
    const lost = begun({ state: "lost" });
    expect(decided(lost, { deployment: aDeployment() })).toMatchObject({ fields: { state: "soaking" } });
    expect(decided(lost, { deployment: aDeployment({ status: "Running" }) })).toMatchObject({
      fields: { state: "deploying" },
    });
    const failed = aDeployment({ status: "Fail", code: "DeploymentTimeout" });
    expect(decided(lost, { deployment: failed })).toMatchObject({ fields: { state: "pending", failedAttempts: 1 } });
  });

  test("is tried as often as the strategy says", () => {
    const deployment = aDeployment({ status: "Fail", code: "CrashLoopBackOff", message: "It crashed." });
    const again = { state: "pending", failedAttempts: 1, deploymentId: undefined, code: "CrashLoopBackOff" };
    expect(decided(begun(), { deployment })).toMatchObject({ fields: again });
    const last = begun({ attempt: 2, failedAttempts: 1 });
    expect(decided(last, { deployment })).toMatchObject({
      fields: { state: "failed", failedAttempts: 2, message: "It crashed." },
    });
    const over = context(aRollout({ state: "cancelled" }));
    expect(decided(begun(), { deployment }, over)).toMatchObject({ fields: { state: "failed" } });
  });

  test("is not counted as failed when its device was not reached, up to a bound", () => {
    const deployment = aDeployment({ status: "Fail", code: "DeviceNotReachable", acknowledgedAtMs: undefined });
    const known = { deployment, isConnected: false };
    const { fields } = decided(begun(), known) as { fields: Partial<Target> };
    expect(fields.state).toBe("pending");
    expect(fields).not.toHaveProperty("failedAttempts");
    expect(decided(begun({ attempt: 11 }), known)).toMatchObject({ fields: { state: "failed" } });
  });

  test("is refused by the policy of its device, apart from failures", () => {
    const deployment = aDeployment({ status: "Fail", code: "PolicyDenied" });
    expect(decided(begun(), { deployment })).toMatchObject({ fields: { state: "refused", code: "PolicyDenied" } });
  });
});

describe("a target that soaks", () => {
  const running = { deployment: aDeployment(), report: aReport([anApp(2)]) };

  test("succeeds after its soak, with its device there", () => {
    expect(decided(aSoakingTarget(), running)).toMatchObject({ fields: { soakSinceMs: NOW, dueMs: NOW + 60_000 } });
    expect(decided(aSoakingTarget(), running, context(), NOW + 60_000)).toMatchObject({
      fields: { state: "succeeded" },
    });
    const away = { ...running, isConnected: false };
    expect(decided(aSoakingTarget(), away, context(), NOW + 60_000)).toMatchObject({
      fields: { dueMs: NOW + 1_800_000 },
    });
  });

  test("fails when its device is away, and soaks again on its return", () => {
    const away = { ...running, isConnected: false };
    const failed = { state: "failed", code: "DeviceNotReachable" } as const;
    expect(decided(aSoakingTarget(), away, context(), NOW + 1_800_000)).toMatchObject({ fields: failed });
    expect(decided(aSoakingTarget(failed), running)).toMatchObject({ fields: { state: "soaking", code: undefined } });
    expect(decided(aSoakingTarget(failed), away)).toEqual({ kind: "nothing" });
    expect(decided(aSoakingTarget({ ...failed, code: "CrashLoopBackOff" }), running)).toEqual({ kind: "nothing" });
  });

  test("begins its soak again after a restart, and fails if its apps do not come up", () => {
    const restarted = { ...running, report: aReport([anApp(2, { since: NOW / 1000 + 50 })], { atMs: NOW + 50_000 }) };
    const after = decided(aSoakingTarget(), restarted, context(), NOW + 60_000);
    expect(after).toMatchObject({ fields: { soakSinceMs: NOW + 50_000, dueMs: NOW + 110_000 } });
    const down = { ...running, report: aReport([anApp(2, { state: "unhealthy" })]) };
    expect(decided(aSoakingTarget({ soakSinceMs: NOW }), down)).toMatchObject({
      fields: { soakSinceMs: undefined, dueMs: NOW + 420_000 },
    });
    expect(decided(aSoakingTarget(), down, context(), NOW + 420_000)).toMatchObject({ fields: { state: "failed" } });
  });

  test.each([
    ["stops an app", [anApp(2, { desired_state: "stopped" })]],
    ["removes an app", []],
    [
      "changes an app",
      [{ ...aMarkedApp(2, true), fleet: { name: FLEET, revision: 2, deployment_id: "dep_0", is_changed: true } }],
    ],
  ])("is neither repaired nor a failure when somebody %s", (_what, apps) => {
    const changed = { ...running, report: aReport(apps) };
    expect(decided(aSoakingTarget(), changed)).toMatchObject({ fields: { dueMs: NOW + 60_000 } });
    expect(decided(aSoakingTarget(), changed, context(), NOW + 60_000)).toMatchObject({
      fields: { state: "changed_by_hand" },
    });
    const over = context(aRollout({ state: "superseded" }));
    expect(decided(aSoakingTarget(), changed, over, NOW + 60_000)).toMatchObject({ fields: { state: "skipped" } });
    expect(decided(aSoakingTarget({ state: "succeeded" }), changed)).toEqual({ kind: "nothing" });
  });

  test("is known to be changed by hand at once where the device names the deployment that it was changed after", () => {
    const changed = { ...running, report: aReport([aMarkedApp(2, true)]) };
    expect(decided(aSoakingTarget(), changed)).toMatchObject({ fields: { state: "changed_by_hand" } });
  });

  test("soaks again when people have put right what they changed", () => {
    const target = aSoakingTarget({ state: "changed_by_hand", message: "web was stopped." });
    const stopped = { ...running, report: aReport([anApp(2, { desired_state: "stopped" })]) };
    expect(decided(target, stopped)).toEqual({ kind: "nothing" });
    const right = { ...running, report: aReport([anApp(2)]) };
    expect(decided(target, right)).toMatchObject({ fields: { state: "soaking", message: undefined } });
    const over = context(aRollout({ state: "succeeded" }));
    expect(decided(target, right, over)).toEqual({ kind: "nothing" });
  });

  test("fails where an app is another one without anybody's doing", () => {
    const changed = { ...running, report: aReport([anApp(1)]) };
    expect(decided(aSoakingTarget(), changed, context(), NOW + 60_000)).toMatchObject({ fields: { state: "failed" } });
    const over = context(aRollout({ state: "superseded" }));
    expect(decided(aSoakingTarget(), changed, over, NOW + 60_000)).toMatchObject({ fields: { state: "skipped" } });
    expect(decided(aSoakingTarget({ state: "succeeded" }), changed)).toEqual({ kind: "nothing" });
  });

  test("never succeeds on silence", () => {
    const silent = { ...running, report: aReport([anApp(2)], { heldSinceMs: NOW }) };
    expect(decided(aSoakingTarget(), silent, context(), NOW + HOUR_MS)).toMatchObject({
      fields: { dueMs: NOW + HOUR_MS + 60_000 },
    });
    expect(decided(aSoakingTarget(), silent, context(), NOW + 72 * HOUR_MS)).toMatchObject({
      fields: { state: "failed", code: "DeviceFailed" },
    });
  });
});
