import { expect, test } from "vitest";
import {
  bitsOfOutcome,
  bitsOfReport,
  bitsToldBy,
  reasonsOfBits,
} from "../../../../src/control-plane/core/attention.ts";
import type { ErrorCode } from "../../../../src/protocol/errors/errors.ts";
import type { AppReport } from "../../../../src/protocol/apps/app-report.ts";
import { someApp, someFacts } from "../../../support/control-plane/device-samples.ts";

const spec = (fields: Readonly<Record<string, unknown>>): Partial<AppReport> => ({
  spec: { image: "web:1", ...fields },
});

test.each<[string, readonly string[], Partial<AppReport>]>([
  ["that runs", [], {}],
  ["that was paused or stopped by another tool", ["app_stopped"], { state: "stopped" }],
  ["that is to be restarted always", ["app_stopped"], { state: "stopped", ...spec({ restart_policy: "always" }) }],
  ["that a person has stopped", [], { state: "stopped", desired_state: "stopped" }],
  ["that has ended, as it may", [], { state: "stopped", ...spec({ restart_policy: "no" }) }],
  ["that has ended without an error", [], { state: "stopped", ...spec({ restart_policy: "on-failure" }) }],
  [
    "that has failed as often as it may",
    ["app_stopped"],
    { state: "stopped", last_exit: { code: 1 }, ...spec({ restart_policy: "on-failure", max_restarts: 3 }) },
  ],
  // Whether it may end is not known.
  ["whose specification the report left out", [], { state: "stopped", spec: {} }],
  ["without a container", ["app_missing"], { state: "missing" }],
  ["that restarts", ["app_restarting"], { state: "restarting" }],
  ["that is unhealthy", ["app_unhealthy"], { state: "unhealthy" }],
])("an app %s needs attention: %j", (_what, reasons, app) => {
  const report = { apps: [someApp("db"), someApp("web", app)], device: someFacts() };
  expect(reasonsOfBits(bitsOfReport(report))).toEqual(reasons);
  // The next report takes it back.
  expect(bitsOfReport(report) & ~bitsToldBy(report)).toBe(0);
});

// It paged whoever was on duty, and told them ten seconds later that it was over.
test.each<[ErrorCode, boolean]>([
  ["CrashLoopBackOff", true],
  ["PolicyDenied", true],
  ["ErrorDeploymentAlreadyExist", false],
  ["PlanChanged", false],
  ["InvalidRequest", false],
  ["DeploymentCancelled", false],
])("a deployment that ends with %s says that the device has failed: %s", (code, hasFailed) => {
  const bits = bitsOfOutcome({ status: "Fail", code });
  expect(bits === undefined ? undefined : reasonsOfBits(bits)).toEqual(hasFailed ? ["deployment_failed"] : undefined);
  const last = { id: "dep_1", action: "update", status: "Fail", code } as unknown as AppReport["last_deployment"];
  const report = { apps: [someApp("web", { last_deployment: last })], device: someFacts() };
  expect(reasonsOfBits(bitsOfReport(report))).toEqual(hasFailed ? ["deployment_failed"] : []);
});

test("a device says that its data budget will not last, and with each report that it does", () => {
  const low = { apps: [], device: { ...someFacts(), data_budget_low: true } };
  expect(reasonsOfBits(bitsOfReport(low))).toEqual(["data_budget_low"]);
  const enough = { apps: [], device: someFacts() };
  expect([bitsOfReport(enough), reasonsOfBits(bitsToldBy(enough)).includes("data_budget_low")]).toEqual([0, true]);
});

test("a device says whether its clock is wrong, and that it is right again", () => {
  const wrong = { apps: [], device: { ...someFacts(), clock_wrong: true } };
  expect(reasonsOfBits(bitsOfReport(wrong))).toEqual(["clock_wrong"]);
  const right = { apps: [], device: someFacts() };
  expect([bitsOfReport(right), reasonsOfBits(bitsToldBy(right)).includes("clock_wrong")]).toEqual([0, true]);
  expect(reasonsOfBits(bitsToldBy({ device: undefined }))).not.toContain("clock_wrong");
});
