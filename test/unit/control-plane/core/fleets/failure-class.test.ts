import { describe, expect, it } from "vitest";
import { classifyFailure } from "../../../../../src/control-plane/core/fleets/failure-class.ts";
import { type ErrorCode, errorEntry, ERRORS } from "../../../../../src/protocol/errors.ts";

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
    ]);
  });

  it("never try again what has brought the agent down", () => {
    expect(of("harmful")).toEqual(["AgentCrashed"]);
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
