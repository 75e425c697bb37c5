import { describe, expect, test } from "vitest";
import { commandFrame, tooOldMessage } from "../../../../src/control-plane/core/command.ts";
import { controlFrameSchema } from "../../../../src/protocol/link/frames.ts";
import { commandOf, receivedDeployment } from "../../../support/deployment-record.ts";

const PLAIN = { name: "web", image: "web:1", ports: [{ host_port: 30_000, target_port: 80 }] };

const NONE: ReadonlySet<string> = new Set();

describe("the frame of a deployment", () => {
  test("of an app is a deploy, with nothing else in it", () => {
    const deployment = receivedDeployment({ command: commandOf("deploy", PLAIN) });
    expect(commandFrame(deployment, undefined, NONE)).toEqual({
      type: "deploy",
      deployment_id: "dep_1",
      spec: PLAIN,
    });
  });

  test.each(["update", "remove", "stop", "start", "restart"] as const)("that is to %s is a command", (action) => {
    const deployment = receivedDeployment({
      command: commandOf(action, action === "update" ? { image: "web:2" } : null),
    });
    const frame = commandFrame(deployment, undefined, NONE);
    expect(frame).toMatchObject({ type: "command", action, app: "web" });
    expect(controlFrameSchema.parse(JSON.parse(JSON.stringify(frame)))).toEqual(frame);
  });

  test("carries the credentials beside the options", () => {
    const deployment = receivedDeployment({
      command: commandOf("deploy", PLAIN),
      options: { urgent: true },
      hasRegistryAuth: true,
    });
    expect(commandFrame(deployment, { token: "t" }, NONE)).toMatchObject({
      options: { urgent: true, registry_auth: { token: "t" } },
    });
  });

  test("has no field that the device does not know, where the field says no more than its absence", () => {
    const spec = { memory_limit: null, pull: null, environments: [{ key: "A", value: "1", secret: false }] };
    const deployment = receivedDeployment({ command: commandOf("update", spec) });
    expect(commandFrame(deployment, undefined, new Set(["pull", "environments[].secret"]))).toMatchObject({
      spec: { memory_limit: null, environments: [{ key: "A", value: "1" }] },
    });
    expect(commandFrame(deployment, undefined, NONE)).toMatchObject({ spec });
  });
});

test.each([
  [["pull"], '"pull"'],
  [["pull", "environments[].secret"], '"pull" and "environments[].secret"'],
  [["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], '"a", "b", "c", "d", "e", "f", "g", "h" and 2 more'],
])("a device that is too old for %j is said not to know %s", (names, list) => {
  const message = tooOldMessage(names);
  expect(message).toBe(`The agent on the device is too old for this request: it does not know ${list}.`);
});
