import { describe, expect, test } from "vitest";
import { commandFrame, tooOldMessage } from "../../../../src/control-plane/core/command.ts";
import type { Deployment } from "../../../../src/control-plane/core/deployment.ts";
import { requiredFeatures, supports } from "../../../../src/protocol/link/features.ts";
import { controlFrameSchema } from "../../../../src/protocol/link/frames.ts";
import { commandOf, receivedDeployment } from "../../../support/deployment-record.ts";

const PLAIN = { name: "web", image: "web:1", ports: [{ host_port: 30_000, target_port: 80 }] };

const hasAll = () => true;

const featuresOf = (deployment: Deployment) => requiredFeatures({ ...deployment, ...deployment.command });

interface Needs extends Partial<Pick<Deployment, "options" | "hasRegistryAuth">> {
  readonly spec?: object;
}

describe("the frame of a deployment", () => {
  test("of an app is a deploy, with nothing in it that an agent of protocol 1 would not know", () => {
    const deployment = receivedDeployment({ command: commandOf("deploy", PLAIN) });
    expect(commandFrame(deployment, undefined, hasAll)).toEqual({
      type: "deploy",
      deployment_id: "dep_1",
      spec: PLAIN,
    });
    expect(featuresOf(deployment)).toEqual([]);
  });

  test.each(["update", "remove", "stop", "start", "restart"] as const)("that is to %s is a command", (action) => {
    const deployment = receivedDeployment({
      command: commandOf(action, action === "update" ? { image: "web:2" } : null),
    });
    const frame = commandFrame(deployment, undefined, hasAll);
    expect(frame).toMatchObject({ type: "command", action, app: "web" });
    expect(controlFrameSchema.parse(JSON.parse(JSON.stringify(frame)))).toEqual(frame);
    expect(featuresOf(deployment)).toContainEqual({ feature: "appCommands", usedBy: `action ${action}` });
  });

  test("carries the credentials beside the options", () => {
    const deployment = receivedDeployment({
      command: commandOf("deploy", PLAIN),
      options: { urgent: true },
      hasRegistryAuth: true,
    });
    expect(commandFrame(deployment, { token: "t" }, hasAll)).toMatchObject({
      options: { urgent: true, registry_auth: { token: "t" } },
    });
  });

  test("has no field that the device does not know, where the field says no more than its absence", () => {
    const spec = { memory_limit: null, pull: null, environments: [{ key: "A", value: "1", secret: false }] };
    const deployment = receivedDeployment({ command: commandOf("update", spec) });
    expect(featuresOf(deployment).map(({ feature }) => feature)).toEqual(["appCommands"]);
    expect(commandFrame(deployment, undefined, (feature) => supports(2, feature))).toMatchObject({
      spec: { memory_limit: null, environments: [{ key: "A", value: "1" }] },
    });
    expect(commandFrame(deployment, undefined, hasAll)).toMatchObject({ spec });
  });
});

test.each<[Needs, string, string]>([
  [{ options: { dry_run: true } }, "deployOptions", "dry_run"],
  [{ hasRegistryAuth: true }, "deployOptions", "registry_auth"],
  [{ spec: { ...PLAIN, command: ["sh"] } }, "extraAppFields", "command"],
  [
    { spec: { ...PLAIN, ports: [{ host_port: 1, target_port: 53, protocol: "udp" }] } },
    "extraAppFields",
    "ports[].protocol",
  ],
  [
    { spec: { ...PLAIN, environments: [{ key: "A", value: "1", secret: true }] } },
    "declaredSecrets",
    "environments[].secret",
  ],
  [{ spec: { ...PLAIN, pull: "missing" } }, "pullPolicy", "pull"],
  [{ spec: { ...PLAIN, health_timeout_s: 300 } }, "healthTimeout", "health_timeout_s"],
])("a deployment with %j needs the feature %s for %s", ({ spec = PLAIN, ...fields }: Needs, feature, usedBy) => {
  expect(featuresOf(receivedDeployment({ command: commandOf("deploy", spec), ...fields }))).toEqual([
    { feature, usedBy },
  ]);
});

test.each([
  [["pull"], '"pull"'],
  [["pull", "environments[].secret"], '"pull" and "environments[].secret"'],
  [["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], '"a", "b", "c", "d", "e", "f", "g", "h" and 2 more'],
])("a device that is too old for %j is said not to know %s", (names, list) => {
  const message = tooOldMessage(names.map((usedBy) => ({ feature: "pullPolicy", usedBy })));
  expect(message).toBe(`The agent on the device is too old for this request: it does not know ${list}.`);
});
