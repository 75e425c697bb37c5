import { describe, expect, test } from "vitest";
import { commandFrame } from "../../../../src/control-plane/core/command.ts";
import { requiredFeatures } from "../../../../src/protocol/features.ts";
import { controlFrameSchema } from "../../../../src/protocol/frames.ts";
import { receivedDeployment } from "../../../support/deployment-record.ts";

const PLAIN = { name: "web", image: "web:1", ports: [{ host_port: 30_000, target_port: 80 }] };

describe("the frame of a deployment", () => {
  test("of an app is a deploy, with nothing in it that an agent of protocol 1 would not know", () => {
    const deployment = receivedDeployment({ spec: PLAIN });
    expect(commandFrame(deployment, undefined)).toEqual({ type: "deploy", deployment_id: "dep_1", spec: PLAIN });
    expect(requiredFeatures(deployment)).toEqual([]);
  });

  test.each(["update", "remove", "stop", "start", "restart"] as const)("that is to %s is a command", (action) => {
    const deployment = receivedDeployment({ action, spec: action === "update" ? { image: "web:2" } : null });
    const frame = commandFrame(deployment, undefined);
    expect(frame).toMatchObject({ type: "command", action, app: "web" });
    expect(controlFrameSchema.parse(JSON.parse(JSON.stringify(frame)))).toEqual(frame);
    expect(requiredFeatures(deployment)).toContain("appCommands");
  });

  test("carries the credentials beside the options", () => {
    const deployment = receivedDeployment({ spec: PLAIN, options: { urgent: true }, hasRegistryAuth: true });
    expect(commandFrame(deployment, { token: "t" })).toMatchObject({
      options: { urgent: true, registry_auth: { token: "t" } },
    });
  });
});

test.each([
  [{ options: { dry_run: true } }, "deployOptions"],
  [{ hasRegistryAuth: true }, "deployOptions"],
  [{ spec: { ...PLAIN, command: ["sh"] } }, "extraAppFields"],
  [{ spec: { ...PLAIN, ports: [{ host_port: 30_000, target_port: 53, protocol: "udp" }] } }, "extraAppFields"],
])("a deployment with %j needs the feature %s", (fields, feature) => {
  expect(requiredFeatures(receivedDeployment({ spec: PLAIN, ...fields }))).toEqual([feature]);
});
