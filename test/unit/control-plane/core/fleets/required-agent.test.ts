import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findImpossibility } from "../../../../../src/control-plane/core/fleets/decide-begin.ts";
import { decideTarget } from "../../../../../src/control-plane/core/fleets/decide-target.ts";
import { judge } from "../../../../../src/control-plane/core/fleets/judge.ts";
import { agentRequest, needsAgent, nextPart } from "../../../../../src/control-plane/core/fleets/required-agent.ts";
import type { Target } from "../../../../../src/control-plane/core/fleets/rollout.ts";
import type { TargetFacts } from "../../../../../src/control-plane/core/fleets/target-decision.ts";
import { FLEET, fleetGoal } from "../../../../support/fleets/model-revisions.ts";
import {
  aDeployment,
  anApp,
  aReport,
  aRollout,
  aTarget,
  context,
  facts,
  NOW,
} from "../../../../support/fleets/records.ts";

/** Revision 2 asks for agent 1.2.0 and has an app, revision 4 asks for agent 1.4.0 alone. */
const goalsOf = (revision: number) => ({ forward: fleetGoal(revision, undefined), back: fleetGoal(1, revision) });
const [withApp, alone] = [goalsOf(2), goalsOf(4)];

const updated = aDeployment({ action: "update_agent" });
const deploying = (fields: Partial<Target> = {}): Target =>
  aTarget({ state: "deploying", attempt: 2, failedAttempts: 1, wasAttempted: true, deploymentId: "dep_1", ...fields });
const decided = (target: Target, known: Partial<TargetFacts>, goals = withApp, rollout = aRollout()) =>
  decideTarget(target, facts(known), context(rollout, { goals }), NOW);

const version = fc.constantFrom(undefined, "1.0.0", "1.2.0~beta1", "1.2.0", "1.4.0", "1.10.0");

describe("what an attempt brings", () => {
  test("is never an older agent, and apps only where the agent is as new as it has to be", () => {
    fc.assert(
      fc.property(fc.constantFrom(1, 2, 4), version, (revision, running) => {
        const goal = fleetGoal(revision, undefined);
        const part = nextPart(goal, running);
        expect(part === "agent").toBe(needsAgent(goal, running));
        if (part === undefined) expect(goal.apps).toEqual([]);
      }),
    );
    expect(nextPart(withApp.forward, "1.1.9")).toBe("agent");
    expect(nextPart(withApp.forward, undefined)).toBe("agent");
    expect([nextPart(withApp.forward, "1.2.0"), nextPart(withApp.forward, "1.10.0")]).toEqual(["apps", "apps"]);
    expect(nextPart(alone.forward, "1.10.0")).toBeUndefined();
  });

  test("is a release that was set aside only where a person retries the rollout", () => {
    const agent = alone.forward.agent;
    if (!agent) throw new Error("the revision asks for no agent");
    expect(agentRequest(agent, { retryOf: undefined })).toEqual(agent);
    expect(agentRequest(agent, { retryOf: "rol_1" })).toEqual({ ...agent, again: true });
  });
});

describe("a target whose agent was updated", () => {
  test("is pending for its apps, whose attempts are counted anew", () => {
    expect(decided(deploying(), { deployment: updated, agentVersion: "1.2.0" })).toEqual({
      kind: "change",
      fields: {
        state: "pending",
        failedAttempts: 0,
        attemptsBefore: 2,
        deploymentId: undefined,
        message: "Its agent is 1.2.0 now; its apps follow.",
        dueMs: NOW,
      },
    });
  });

  test("soaks where there are no apps, from the end of the update on, and without a report", () => {
    const known = { deployment: updated, agentVersion: "1.4.0" };
    expect(decided(deploying(), known, alone)).toMatchObject({ fields: { state: "soaking" } });
    expect(judge(alone.forward, facts(known), NOW + 5_000)).toEqual({ kind: "as_specified", upSinceMs: NOW });
  });

  test("has failed if the device runs an older one all the same, and is not attempted again", () => {
    const known = { deployment: updated, agentVersion: "1.1.0" };
    expect(decided(deploying({ failedAttempts: 0 }), known, withApp, aRollout({}, { attempts: 5 }))).toMatchObject({
      fields: { state: "failed", code: "AgentUpdateFailed", message: expect.stringContaining("runs 1.1.0") as string },
    });
  });

  test("is changed by hand if the device goes back while it soaks", () => {
    const target = aTarget({ state: "soaking", attempt: 1, wasAttempted: true, deploymentId: "dep_1", sinceMs: NOW });
    const known = { deployment: updated, agentVersion: "1.1.0" };
    const later = decideTarget(target, facts(known), context(aRollout(), { goals: alone }), NOW + 120_000);
    expect(later).toMatchObject({
      fields: { state: "changed_by_hand", message: "its agent is 1.1.0, older than 1.4.0." },
    });
  });

  test("is skipped in a rollout that was cancelled before its apps' turn", () => {
    const target = aTarget({ attempt: 2, attemptsBefore: 2, wasAttempted: true });
    expect(decided(target, { agentVersion: "1.2.0" }, withApp, aRollout({ state: "cancelled" }))).toMatchObject({
      fields: { state: "skipped", message: "The rollout ended before its apps' turn." },
    });
  });
});

test("a device whose agent is too old for an app is not refused while a newer agent is to come before it", () => {
  const protocols = { current: 2, oldest: 1, added: { environments: 2 } };
  const known = { protocol: 1, agentVersion: "1.0.0" };
  expect(findImpossibility(withApp.forward, known, protocols)).toBeUndefined();
  expect(findImpossibility(withApp.forward, { ...known, agentVersion: "1.2.0" }, protocols)).toMatchObject({
    code: "DeviceTooOld",
  });
});

describe("going back", () => {
  const back = aRollout({ state: "rolling_back" });

  test("asks for no older agent, and ends at once where there are no apps", () => {
    const goals = { forward: alone.forward, back: fleetGoal(undefined, 4) };
    const target = aTarget({ state: "succeeded", attempt: 1, wasAttempted: true, deploymentId: "dep_1" });
    expect(decided(target, { deployment: updated, agentVersion: "1.4.0" }, goals, back)).toMatchObject({
      fields: { state: "rolled_back", direction: "back", message: expect.stringContaining("stays at 1.4.0") as string },
    });
    // A revision that asks for a lower version is satisfied.
    const lower = { forward: fleetGoal(8, undefined), back: fleetGoal(4, 8) };
    expect(decided(target, { deployment: updated, agentVersion: "1.8.0" }, lower, back)).toMatchObject({
      fields: { state: "rolled_back", message: expect.stringContaining("stays at 1.8.0") as string },
    });
  });

  test("needs no new report after an update that failed, which has touched no app", () => {
    const failed = aDeployment({ action: "update_agent", status: "Fail", code: "AgentUpdateFailed" });
    const fleet = { name: FLEET, revision: 1, deployment_id: "dep_0", is_changed: false };
    const report = aReport([{ ...anApp(1), fleet }], { atMs: NOW - 3_600_000 });
    const target = aTarget({ state: "failed", attempt: 1, wasAttempted: true, deploymentId: "dep_1" });
    expect(decided(target, { deployment: failed, agentVersion: "1.0.0", report }, withApp, back)).toMatchObject({
      fields: { state: "rolled_back", direction: "back", message: "It still ran revision 1." },
    });
  });
});
