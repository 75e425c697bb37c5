import { beforeEach, expect, test } from "vitest";
import { isFinal } from "../../src/protocol/deployments/deployment-event.ts";
import { freeHostPort } from "../support/free-port.ts";
import { sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { page } from "../support/system/app-page.ts";
import { expectFailed } from "../support/system/expect-failure.ts";
import { sharedSystem } from "../support/system/test-system.ts";

// Keeps deployments in verification longer than the tests need.
const LONG = { deploy: { settle_window_s: 120 } };
const SHORT = { deploy: { settle_window_s: 0.5 } };

const system = sharedSystem(() => ({ agentConfig: LONG }));
beforeEach(() => system().agent.restart(LONG));

test("a deployment cancelled during verification is rolled back, and its name and port are free", async () => {
  const image = await system().load(await webImage());
  const port = await freeHostPort();
  const app = { name: system().name(), image, ports: [{ host_port: port, target_port: WEB_PORT }] };
  const stream = await system().open(app);
  await stream.event("verifying", ({ step }) => step === "verifying");
  expect(await page(port)).toContain("edge-agent test app");
  const headers = { "X-API-Key": system().account.apiKey };
  const answer = await fetch(system().deploymentUrl(stream.deploymentId), { method: "DELETE", headers });
  expect(answer.status).toBe(202);
  await expectFailed(system(), await system().finish(stream), app, "DeploymentCancelled");
  await system().agent.restart(SHORT);
  expect((await system().deploy(app)).final.status).toBe("Success");
  expect(await page(port)).toContain("edge-agent test app");
});

test("a request repeated with its Idempotency-Key joins its deployment", async () => {
  await system().agent.restart(SHORT);
  const app = { name: system().name(), image: await system().load(await sleeperImage()) };
  const headers = { "Idempotency-Key": "once" };
  const first = await system().open(app, { headers });
  await first.event("the start", ({ step }) => step === "starting");
  first[Symbol.dispose]();
  const second = await system().finish(await system().open(app, { headers }));
  expect(second.deploymentId).toBe(first.deploymentId);
  expect(second.final.status).toBe("Success");
  expect(second.events[0]?.seq).toBe(1);
  const third = await system().finish(await system().open(app, { headers }));
  expect(third.events).toEqual(second.events);
  expect(await system().containersOf(first.deploymentId)).toHaveLength(1);
});

test("revoking a key ends its streams at once, and the deployment continues", async () => {
  const { control, account } = system();
  const app = { name: system().name(), image: await system().load(await sleeperImage()) };
  const key = await control.administer("key", "create", "--account", account.accountId, "--name", "short-lived");
  const stream = await system().open(app, { apiKey: key["api_key"] ?? "" });
  await stream.event("verifying", ({ step }) => step === "verifying");
  await control.administer("key", "revoke", key["key_id"] ?? "");
  await stream.ended;
  expect(stream.events.some(isFinal)).toBe(false);
  expect(await system().record(stream.deploymentId)).toMatchObject({ status: "Running" });
});
