import { expect, test } from "vitest";
import { freeHostPort } from "../support/free-port.ts";
import { sleeperImage, WEB_PORT } from "../support/images.ts";
import { startTestSystem } from "../support/system/test-system.ts";
import type { AppRequest, Deployed, System } from "../support/system.ts";
import { waitFor } from "../support/wait-for.ts";

// Concurrent: each test has its own system and mostly waits for the acknowledgement timeout of 10 s.

async function app(system: System): Promise<AppRequest> {
  const ports = [{ host_port: await freeHostPort(), target_port: WEB_PORT }];
  return { name: system.name(), image: await system.load(await sleeperImage()), ports };
}

function expectNotReachable({ status, final }: Deployed): void {
  expect({ status, final }).toMatchObject({
    status: 200,
    final: { status: "Fail", code: "DeviceNotReachable", message: "Device not reachable", step: "received", seq: 2 },
  });
}

async function timed<T>(work: Promise<T>): Promise<[T, seconds: number]> {
  const began = performance.now();
  return [await work, (performance.now() - began) / 1000];
}

/** Checks that the failed deployment does not run and the same app can be deployed. */
async function expectWorksAgain(system: System, request: AppRequest, failedId: string): Promise<void> {
  expect((await system.deploy(request)).final.status).toBe("Success");
  expect(await system.containersOf(failedId)).toEqual([]);
  expect(await system.record(failedId)).toMatchObject({ status: "Fail", code: "DeviceNotReachable" });
}

test.concurrent("a device without a connection: DeviceNotReachable, at once", async (context) => {
  const system = await startTestSystem(context);
  const request = await app(system);
  await system.agent.stop();
  await waitFor("the service to notice", () => system.control.log().some(({ msg }) => msg === "device offline"));
  const failed = await system.deploy(request);
  expectNotReachable(failed);
  await system.agent.start();
  await expectWorksAgain(system, request, failed.deploymentId);
});

test.concurrent("a deployment waits for its device, also while the service is killed, and goes out once", async (context) => {
  const system = await startTestSystem(context);
  const request = await app(system);
  await system.agent.stop();
  await waitFor("the service to notice", () => system.control.log().some(({ msg }) => msg === "device offline"));
  const stream = await system.open({ ...request, wait_for_device_s: 600 });
  await stream.until("the wait", ({ events }) => events.length === 2);
  await system.control.kill();
  await system.control.start();
  await system.agent.start();
  const { final, events } = await system.finish(await system.follow(stream.deploymentId));
  expect(final).toMatchObject({ status: "Success" });
  const sent = events.filter(({ message }) => message === "The device is connected; the deployment is sent.");
  expect(sent).toHaveLength(1);
  expect(await system.containersOf(stream.deploymentId)).toHaveLength(1);
});

test.concurrent("a device that is frozen: DeviceNotReachable after 10 s, and it never runs", async (context) => {
  const system = await startTestSystem(context);
  const request = await app(system);
  system.agent.signal("SIGSTOP");
  const [failed, seconds] = await timed(system.deploy(request)).finally(() => system.agent.signal("SIGCONT"));
  expectNotReachable(failed);
  expect(seconds).toBeGreaterThan(9.5);
  // The resumed agent reads the command from its socket, followed by its cancellation.
  await system.agent.waitForLog("the end of the cancelled deployment", ({ deployment, code }) => {
    return deployment === failed.deploymentId && code === "DeploymentCancelled";
  });
  await expectWorksAgain(system, request, failed.deploymentId);
});

test.concurrent("a silent link: DeviceNotReachable after 10 s, and the agent reconnects", async (context) => {
  // The agent must not detect the silence within the ten seconds: otherwise it would reconnect and get the deployment.
  const system = await startTestSystem(context, {
    agentConfig: { link: { keepalive_s: 25, keepalive_max_s: 25, pong_timeout_s: 1 } },
  });
  const request = await app(system);
  system.link.silence();
  const [failed, seconds] = await timed(system.deploy(request));
  expectNotReachable(failed);
  expect(seconds).toBeGreaterThan(9.5);
  const links = (): number => system.agent.log().filter(({ msg }) => msg.startsWith("online")).length;
  await waitFor("a new link", () => links() >= 2);
  await system.untilOnline();
  await expectWorksAgain(system, request, failed.deploymentId);
});
