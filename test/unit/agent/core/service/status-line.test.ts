import { expect, it } from "vitest";
import { changedPaths } from "../../../../../src/agent/service/reload.ts";
import { statusLine } from "../../../../../src/agent/core/service/status-line.ts";

const online = { online: true, serialNumber: "gw-7", reason: undefined };

it("formats in one line what the daemon is doing", () => {
  expect(statusLine({ link: online, apps: 1, deployments: [] })).toBe("Online as gw-7; 1 app");
  const deployments = [
    { app: "web", step: "pulling", progress: 40 },
    { app: "", step: "checking", progress: null },
  ];
  expect(statusLine({ link: { ...online, serialNumber: undefined }, apps: 3, deployments })).toBe(
    "Online; 3 apps; web: pulling 40 %; (no name): checking",
  );
});

it("gives the reason for a missing link once it is known, and no old reason when online", () => {
  const offline = { online: false, serialNumber: "gw-7", reason: undefined };
  expect(statusLine({ link: offline, apps: 0, deployments: [] })).toBe("Connecting to the control plane; no apps");
  const refused = { ...offline, reason: "connection refused" };
  expect(statusLine({ link: refused, apps: 0, deployments: [] })).toBe(
    "Offline, trying again (connection refused); no apps",
  );
  expect(statusLine({ link: { ...refused, online: true }, apps: 0, deployments: [] })).toBe("Online as gw-7; no apps");
});

it("finds where two configurations differ", () => {
  const before = { log: { level: "info" }, link: { keepalive_s: 600, pong_timeout_s: 20 }, policy: { allow: ["/a"] } };
  expect(changedPaths(before, structuredClone(before))).toEqual([]);
  const after = { ...before, log: { level: "debug" }, policy: { allow: ["/a", "/b"] }, engine: { socket: "/s" } };
  expect(changedPaths(before, after)).toEqual(["log.level", "policy.allow", "engine"]);
});
