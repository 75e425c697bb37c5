import { expect, test } from "vitest";
import { attemptMessage } from "../../../../src/control-plane/fleets/attempt-message.ts";
import { type DeploymentEvent, deploymentEventSchema } from "../../../../src/protocol/deployments/deployment-event.ts";

function failed(code: string, details?: unknown): DeploymentEvent {
  const event = { status: "Fail", step: "checking", deployment_id: "dep_1", seq: 6, timestamp: 1_795_836_548 };
  return deploymentEventSchema.parse({
    ...event,
    message: "It failed.",
    code,
    ...(details !== undefined && { details }),
  });
}

const inUse = (details: object): string =>
  attemptMessage(failed("ErrorPortInUse", { app: "web", host_port: 31_990, ...details }));

test("a port in use is named with its app and what has it", () => {
  expect(inUse({ holder: { kind: "process", pid: 27_960, name: "python3" } })).toBe(
    "It failed. App web: port 31990, which the process python3 (pid 27960) has.",
  );
  expect(inUse({ holder: { kind: "process" } })).toBe("It failed. App web: port 31990, which another process has.");
  expect(inUse({ holder: { kind: "app", name: "signs" } })).toBe(
    "It failed. App web: port 31990, which the app signs has.",
  );
  expect(inUse({ holder: { kind: "container", name: "db" } })).toContain("which the container db has");
  expect(inUse({ holder: { kind: "deployment", name: "db" } })).toContain("for which a deployment of db is under way");
  expect(inUse({ holder: { kind: "request" } })).toContain("which it asks for twice");
  expect(inUse({ protocol: "udp" })).toBe("It failed. App web: port 31990/udp.");
  expect(inUse({ app: undefined })).toBe("It failed. It is port 31990.");
  const range = failed("ErrorNodePortIsNotCorrectRange", { app: "web", host_port: 80 });
  expect(attemptMessage(range)).toBe("It failed. App web: port 80.");
});

test("other messages, and details that a device has made up, change nothing", () => {
  expect(attemptMessage(failed("CrashLoopBackOff", { app: "web", host_port: 1 }))).toBe("It failed.");
  for (const details of [undefined, {}, { host_port: "31990" }, { host_port: 1.5, app: "web" }])
    expect(attemptMessage(failed("ErrorPortInUse", details))).toBe("It failed.");
  expect(inUse({ holder: "nobody" })).toBe("It failed. App web: port 31990.");
  const odd = inUse({ holder: { kind: "process", name: "\u001B[2Jx\ny" } });
  expect(odd).toContain("which the process \u{FFFD}[2Jx\u{FFFD}y has");
  expect(inUse({ holder: { kind: "process", name: "x".repeat(9_000) } }).length).toBeLessThan(300);
});
