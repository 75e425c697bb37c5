import { describe, expect, test } from "vitest";
import { beginAttempt } from "../../../../../src/control-plane/core/fleets/decide-begin.ts";
import { decideTarget } from "../../../../../src/control-plane/core/fleets/decide-target.ts";
import type { TargetFacts } from "../../../../../src/control-plane/core/fleets/target-decision.ts";
import type { Target } from "../../../../../src/control-plane/core/fleets/rollout.ts";
import { FLEET } from "../../../../support/fleets/model-revisions.ts";
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

const decided = (target: Target, known: Partial<TargetFacts> = {}, within = context(), nowMs = NOW) =>
  decideTarget(target, facts(known), within, nowMs);

const begun = (fields: Partial<Target> = {}): Target =>
  aTarget({ ...beginAttempt(aTarget(), NOW), deploymentId: "dep_1", ...fields });

describe("a rollout that goes back", () => {
  const back = context(aRollout({ state: "rolling_back" }));

  test("has nothing to do where the failed deployment has left the revision before", () => {
    const failed = { deployment: aDeployment({ status: "Fail", code: "CrashLoopBackOff" }) };
    const target = aSoakingTarget({ state: "failed", code: "CrashLoopBackOff" });
    const fleet = { name: FLEET, revision: 1, deployment_id: "dep_0", is_changed: false };
    const early = { ...failed, report: aReport([{ ...anApp(1), fleet }], { atMs: NOW - 60_000 }) };
    expect(decided(target, early, back)).toMatchObject({ fields: { dueMs: NOW + 60_000 } });
    expect(decided(target, early, back, NOW + 60_000)).toMatchObject({
      fields: { state: "rolled_back", direction: "back", message: "It still ran revision 1." },
    });
    const left = { ...failed, report: aReport([aMarkedApp(2)]) };
    expect(decided(target, left, back, NOW + 60_000)).toMatchObject({
      fields: { state: "pending", direction: "back" },
    });
  });

  test("leaves what people have changed as it is, and turns what they only stopped", () => {
    const target = aSoakingTarget({ state: "changed_by_hand" });
    const changed = { deployment: aDeployment(), report: aReport([aMarkedApp(2, true)]) };
    expect(decided(target, changed, back)).toEqual({ kind: "nothing" });
    const stopped = { deployment: aDeployment(), report: aReport([anApp(2, { desired_state: "stopped" })]) };
    expect(decided(target, stopped, back)).toMatchObject({ fields: { state: "pending", direction: "back" } });
    const arrived = { deployment: aDeployment(), report: aReport([anApp(1, { desired_state: "stopped" })]) };
    expect(decided(aSoakingTarget({ direction: "back" }), arrived, back, NOW + 60_000)).toMatchObject({
      fields: { state: "rolled_back", message: "web was stopped." },
    });
  });

  test.each(["succeeded", "failed", "soaking", "pending", "deferred"] as const)(
    "turns a %s target that was attempted",
    (state) => {
      const target = aTarget({ state, wasAttempted: true, attempt: 2, failedAttempts: 1, deploymentId: "dep_1" });
      const fields = { direction: "back", attempt: 0, failedAttempts: 0, deploymentId: undefined, dueMs: NOW };
      expect(decided(target, {}, back)).toMatchObject({ kind: "change", fields });
    },
  );

  test("turns a target at once that fails while it goes back: nothing else may happen to it", () => {
    const deployment = aDeployment({ status: "Fail", code: "CrashLoopBackOff" });
    const target = aTarget({ state: "deploying", wasAttempted: true, attempt: 2, deploymentId: "dep_1" });
    const fields = { state: "failed", dueMs: NOW };
    const strategy = { attempts: 1 };
    const one = context(aRollout({ state: "rolling_back" }, strategy));
    expect(decided(target, { deployment }, one)).toMatchObject({ kind: "change", fields });
  });

  test("skips a target that was not attempted, and leaves one that was refused", () => {
    expect(decided(aTarget(), {}, back)).toMatchObject({ fields: { state: "skipped" } });
    expect(decided(aTarget({ state: "refused", wasAttempted: true }), {}, back)).toEqual({ kind: "nothing" });
  });

  test("lets a deployment under way end first", () => {
    const deployment = aDeployment({ status: "Running" });
    expect(decided(begun(), { deployment }, back)).not.toHaveProperty("fields.direction");
    expect(decided(begun({ state: "lost" }), { deployment, isConnected: false }, back)).not.toHaveProperty(
      "fields.direction",
    );
    expect(decided(begun({ state: "lost" }), { deployment: aDeployment() }, back)).toHaveProperty(
      "fields.direction",
      "back",
    );
  });

  test("ends when the revision before runs, without a soak", () => {
    const target = aSoakingTarget({ direction: "back" });
    const known = { deployment: aDeployment(), report: aReport([anApp(1)]) };
    expect(decided(target, known, back, NOW + 1_000)).toMatchObject({ fields: { state: "rolled_back" } });
  });
});
