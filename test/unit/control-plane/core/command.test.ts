import { describe, expect, test } from "vitest";
import { commandFrame, requiredProtocol } from "../../../../src/control-plane/core/command.ts";
import { controlFrameSchema } from "../../../../src/protocol/frames.ts";
import { receivedDeployment } from "../../../support/deployment-record.ts";

const PLAIN = { name: "web", image: "web:1", ports: [{ host_port: 30_000, target_port: 80 }] };

describe("the frame of a deployment", () => {
  test("of an app is a deploy, with nothing in it that an agent of protocol 1 would not know", () => {
    const deployment = receivedDeployment({ spec: PLAIN });
    expect(commandFrame(deployment, undefined)).toEqual({ type: "deploy", deployment_id: "dep_1", spec: PLAIN });
    expect(requiredProtocol(deployment)).toBe(1);
  });

  test.each(["update", "remove", "stop", "start", "restart"] as const)("that is to %s is a command", (action) => {
    const deployment = receivedDeployment({ action, spec: action === "update" ? { image: "web:2" } : null });
    const frame = commandFrame(deployment, undefined);
    expect(frame).toMatchObject({ type: "command", action, app: "web" });
    expect(controlFrameSchema.parse(JSON.parse(JSON.stringify(frame)))).toEqual(frame);
    expect(requiredProtocol(deployment)).toBe(2);
  });

  test("carries the credentials beside the options", () => {
    const deployment = receivedDeployment({ spec: PLAIN, options: { urgent: true }, hasRegistryAuth: true });
    expect(commandFrame(deployment, { token: "t" })).toMatchObject({
      options: { urgent: true, registry_auth: { token: "t" } },
    });
  });
});

test.each([
  [{ options: { dry_run: true } }],
  [{ hasRegistryAuth: true }],
  [{ spec: { ...PLAIN, command: ["sh"] } }],
  [{ spec: { ...PLAIN, ports: [{ host_port: 30_000, target_port: 53, protocol: "udp" }] } }],
])("a deployment with %j needs protocol 2", (fields) => {
  expect(requiredProtocol(receivedDeployment({ spec: PLAIN, ...fields }))).toBe(2);
});
