import { describe, expect, it, test } from "vitest";
import { classifyFailure } from "../../../../../src/control-plane/core/fleets/decide-attempt.ts";
import { type ErrorCode, errorEntry, ERRORS } from "../../../../../src/protocol/errors/errors.ts";
import { decideTarget } from "../../../../../src/control-plane/core/fleets/decide-target.ts";
import type { TargetFacts } from "../../../../../src/control-plane/core/fleets/target-decision.ts";
import type { Target } from "../../../../../src/control-plane/core/fleets/rollout.ts";
import {
  aDeployment,
  anApp,
  aReport,
  aRollout,
  aSoakingTarget,
  aTarget,
  context,
  facts,
  NOW,
} from "../../../../support/fleets/records.ts";

const codes = Object.keys(ERRORS) as ErrorCode[];
const kindOf = (code: ErrorCode): string => classifyFailure(code).kind;
const of = (kind: string): ErrorCode[] => codes.filter((code) => kindOf(code) === kind);

describe("classes of failures", () => {
  it("know every code", () => {
    for (const code of codes) expect(classifyFailure(code), code).toBeDefined();
  });

  it("count what the device, its owner or a person said no to apart from failures", () => {
    expect(of("refused")).toEqual([
      "AssetNotFound",
      "InsufficientDisk",
      "StateNotWritable",
      "DataBudgetExceeded",
      "PolicyDenied",
      "DeviceTooOld",
      "DeploymentCancelled",
      "AgentUpdateUnsupported",
      "AgentUpdateKeysMissing",
      "AgentArchitectureMissing",
      "AgentVersionRefused",
      "AgentReleaseSetAside",
      "AgentPinned",
    ]);
  });

  it("never try again what has brought the agent down, or a release that it has set aside", () => {
    expect(of("harmful")).toEqual(["AgentCrashed", "AgentUpdateFailed"]);
  });

  it("wait for the connection without counting an attempt", () => {
    expect(classifyFailure("DeviceNotReachable")).toEqual({ kind: "waiting", for: "connection" });
    expect(of("waiting")).toEqual(["DeviceNotReachable"]);
  });

  it("repeat without end only what passes by itself", () => {
    expect(of("retry")).toEqual([
      "PlanChanged",
      "ErrorDeploymentAlreadyExist",
      "RegistryAuthLost",
      "AgentUpdateInProgress",
      "TooManyRequests",
      "ServiceUnavailable",
      "QuotaExceeded",
    ]);
  });

  it("count what an app did on the device as a failure", () => {
    const ofApps = [
      "CrashLoopBackOff",
      "Unhealthy",
      "ImagePullBackOff",
      "DeploymentTimeout",
      "EngineUnavailable",
    ] as const;
    for (const code of ofApps) {
      expect(errorEntry(code).endsDeployment).toBe(true);
      expect(kindOf(code)).toBe("failed");
    }
  });
});

const running = { deployment: aDeployment(), report: aReport([anApp(2)]) };

const decided = (target: Target, known: Partial<TargetFacts> = {}, within = context(), nowMs = NOW) =>
  decideTarget(target, facts(known), within, nowMs);

describe("a target", () => {
  test("fails soon when an app ends again and again, and goes on when it has ended once", () => {
    const soak = context(aRollout({}, { soak_s: 3_600 }));
    const app = anApp(2, { state: "restarting", restarts: 2, last_exit: { code: 3 } });
    const crashing = { ...running, report: aReport([app]) };
    const seen = { downSinceMs: NOW + 9_000, message: "web is restarting: 2 restarts, exit code 3." };
    expect(decided(aSoakingTarget(), crashing, soak, NOW + 9_000)).toMatchObject({
      fields: { ...seen, dueMs: NOW + 99_000 },
    });
    const target = aSoakingTarget(seen);
    expect(decided(target, crashing, soak, NOW + 98_999)).toMatchObject({ fields: { dueMs: NOW + 99_000 } });
    expect(decided(target, crashing, soak, NOW + 99_000)).toMatchObject({
      fields: { state: "failed", code: "CrashLoopBackOff" },
    });
    const up = { ...running, report: aReport([anApp(2, { since: NOW / 1000 + 10 })], { atMs: NOW + 70_000 }) };
    expect(decided(target, up, soak, NOW + 70_000)).toMatchObject({
      fields: { downSinceMs: undefined, message: undefined, soakSinceMs: NOW + 10_000 },
    });
    // It may be up by now where the device holds its reports back, which it does for five minutes.
    const held = { ...running, report: aReport([app], { heldSinceMs: NOW + 20_000 }) };
    expect(decided(target, held, soak, NOW + 99_000)).toMatchObject({ fields: { dueMs: NOW + 339_000 } });
    expect(decided(target, held, soak, NOW + 339_000)).toMatchObject({
      fields: { state: "failed", code: "CrashLoopBackOff" },
    });
    const often = { ...running, report: aReport([{ ...app, restarts: 3 }], { heldSinceMs: NOW + 20_000 }) };
    expect(decided(target, often, soak, NOW + 99_000)).toMatchObject({ fields: { state: "failed" } });
    // What it goes back to stays there, whether it crashes or not.
    const back = { ...target, direction: "back" } as const;
    const before = { ...running, report: aReport([anApp(1, { state: "restarting" })]) };
    expect(decided(back, before, soak, NOW + 99_000)).toMatchObject({ fields: { dueMs: NOW + 300_000 } });
  });

  test("counts attempts from the latest reapply on: for pauses, and for those that say nothing about the revision", () => {
    expect(decided(aTarget({ attempt: 7, attemptsBefore: 7 })).kind).toBe("begin");
    const unreached = { status: "Fail", code: "DeviceNotReachable", acknowledgedAtMs: undefined } as const;
    const failed = facts({ deployment: aDeployment({ ...unreached, message: "Device not reachable." }) });
    const target = { state: "deploying", deploymentId: "dep_1", begunAtMs: NOW - 9 } as const;
    const again = decided(aTarget({ ...target, attempt: 31, attemptsBefore: 30 }), failed);
    expect(again).toMatchObject({ fields: { state: "pending", code: "DeviceNotReachable" } });
    const pending = aTarget({ attempt: 31, attemptsBefore: 30, code: "DeviceNotReachable", begunAtMs: NOW - 9 });
    expect(decided(pending)).toMatchObject({ fields: { dueMs: NOW + 5_000 } });
    expect(decided(aTarget({ ...target, attempt: 41, attemptsBefore: 30 }), failed)).toMatchObject({
      fields: { state: "failed", message: "Device not reachable. It was tried 11 times." },
    });
  });

  test("of an upkeep begins anew if another revision has become the stable one while its attempt was under way", () => {
    const upkeep = context(aRollout({ kind: "upkeep", waveEnteredAtMs: NOW }));
    const old = { attempt: 3, failedAttempts: 1, begunAtMs: NOW - 1, deploymentId: "dep_1" } as const;
    const anew = { state: "pending", attemptsBefore: 3, failedAttempts: 0, deploymentId: undefined, dueMs: NOW };
    const ended = { deployment: aDeployment(), report: aReport([anApp(1)]) };
    expect(decided(aTarget({ ...old, state: "soaking" }), ended, upkeep)).toMatchObject({ fields: anew });
    for (const status of ["Success", "Fail"] as const) {
      const over = { deployment: aDeployment({ status, code: status === "Fail" ? "Unhealthy" : undefined }) };
      expect(decided(aTarget({ ...old, state: "deploying" }), over, upkeep)).toMatchObject({ fields: anew });
    }
    // It ends first, and one that was begun since then is for the revision of now.
    const running = { deployment: aDeployment({ status: "Running" }) };
    expect(decided(aTarget({ ...old, state: "deploying" }), running, upkeep)).not.toMatchObject({ fields: anew });
    const own = aTarget({ ...old, state: "soaking", begunAtMs: NOW });
    expect(decided(own, { deployment: aDeployment(), report: aReport([anApp(2)]) }, upkeep)).not.toMatchObject({
      fields: anew,
    });
    // Then it is an ordinary one.
    expect(decided(aTarget({ ...old, attemptsBefore: 3 }), {}, upkeep).kind).toBe("begin");
  });
});
