import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CredentialCache } from "../../../src/control-plane/deployments/credentials.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;
let api: ApiClient;

beforeEach(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
  account = await control.account();
  asset = await control.asset(account);
  api = apiClient(control, account);
});
afterEach(() => control[Symbol.asyncDispose]());

const HOUR_S = 3_600;
const app = { name: "web", image: "web:1", environments: [{ key: "A", value: "b" }] };

const apps = (): string => `${control.url}/v1/assets/${asset.uuid}/edge/apps`;

const deploy = (
  fields: object = { wait_for_device_s: HOUR_S },
  headers?: Record<string, string>,
): Promise<EventStream> =>
  openStream(apps(), { apiKey: account.apiKey, body: { ...app, ...fields }, ...(headers && { headers }) });

const online = (options?: Parameters<typeof FakeDevice.connect>[2]): Promise<FakeDevice> =>
  FakeDevice.connect(control.agentUrl, asset.deviceToken, options);

test("a deployment goes out when the device connects, and its time begins then", async () => {
  const stream = await deploy();
  await stream.until("the wait", ({ events }) => events.length === 2);
  const until = clock.now() / 1000 + HOUR_S;
  expect(stream.events[1]).toMatchObject({
    status: "Running",
    message: `The device is not connected; waiting for it until ${new Date(until * 1000).toISOString()}.`,
    details: { waiting_for: "device", until },
  });
  await clock.advance(50 * 60_000);
  await using device = await online();
  const frame = await device.next("deploy");
  expect(frame).toMatchObject({ deployment_id: stream.deploymentId, spec: { environments: app.environments } });
  expect(frame).not.toHaveProperty("options");
  await stream.until("the end of the wait", ({ events }) => events.length === 3);
  expect(stream.events[2]).toMatchObject({ message: "The device is connected; the deployment is sent." });
  await waitFor("the acknowledgement", async () => {
    const found = await control.store.deployments.findDeployment(stream.deploymentId);
    return found?.state.kind === "acknowledged";
  });
  // Past the end of the wait, and of the time it would have had without it.
  await clock.advance(14 * 60_000);
  const record = await control.store.deployments.findDeployment(stream.deploymentId);
  expect(record).toMatchObject({ state: { kind: "acknowledged" } });
  await clock.advance(60_000);
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeploymentTimeout" });
});

test("what waits is sent before what is requested when the device connects", async () => {
  const { deployments } = control.store;
  const waiting = await deploy();
  await waiting.until("the wait", ({ events }) => events.length === 2);
  // Requested while the device is being reconciled.
  const list = deployments.listUnfinishedSummaries.bind(deployments);
  const later = vi.spyOn(deployments, "listUnfinishedSummaries").mockImplementationOnce(async (uuid) => {
    const found = await list(uuid);
    await openStream(`${apps()}/web/stop`, { apiKey: account.apiKey, method: "POST" });
    return found;
  });
  try {
    await using device = await online();
    await device.next("command");
    const types = device.received.map(({ type }) => type).filter((type) => type === "deploy" || type === "command");
    expect(types).toEqual(["deploy", "command"]);
  } finally {
    later.mockRestore();
  }
});

test("a device that stays away is not reachable when the wait is over", async () => {
  const stream = await deploy();
  await clock.advance(HOUR_S * 1000 - 1);
  expect(stream.events.some(({ status }) => status === "Fail")).toBe(false);
  await clock.advance(1);
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeviceNotReachable" });
});

test.each([{}, { wait_for_device_s: 0 }])("with %j a deployment does not wait", async (fields) => {
  const stream = await deploy(fields);
  await stream.ended;
  expect(stream.events.map(({ code }) => code)).toEqual([undefined, "DeviceNotReachable"]);
});

test("a wait goes on over a restart of the service, and reconnects", async () => {
  const stream = await deploy();
  await control.restart();
  await using silent = await online({ acknowledges: false });
  await silent.next("deploy");
  await clock.advance(10_000);
  const found = async () => control.store.deployments.findDeployment(stream.deploymentId);
  expect(await found()).toMatchObject({ state: { kind: "waiting" } });
  await silent[Symbol.asyncDispose]();
  await using device = await online();
  expect((await device.next("deploy")).deployment_id).toBe(stream.deploymentId);
  await waitFor("the acknowledgement", async () => (await found())?.state.kind === "acknowledged");
  expect(await found()).toMatchObject({ state: { kind: "acknowledged" } });
});

test("a deployment that waits is cancelled at once", async () => {
  const stream = await deploy();
  const answer = await api.delete(`/v1/assets/${asset.uuid}/edge/deployments/${stream.deploymentId}`);
  expect(answer.status).toBe(200);
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
});

test("a deployment that waits for a device whose asset is removed ends, also if it is stored after that", async () => {
  const stream = await deploy();
  await stream.until("the wait", ({ events }) => events.length === 2);
  const { deployments } = control.store;
  const create = deployments.createDeployment.bind(deployments);
  using _store = Object.assign(deployments, {
    createDeployment: async (...given: Parameters<typeof create>) => {
      expect((await api.delete(`/v1/assets/${asset.uuid}`)).status).toBe(204);
      return create(...given);
    },
    [Symbol.dispose]: () => void Object.assign(deployments, { createDeployment: create }),
  });
  const late = await deploy();
  for (const { ended, events } of [stream, late]) {
    await ended;
    expect(events.at(-1)).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
  }
});

test("credentials of a request that could not be stored are not kept", async () => {
  const { deployments } = control.store;
  const kept = new Set<string>();
  const set = vi.spyOn(CredentialCache.prototype, "set").mockImplementation((id) => void kept.add(id));
  const drop = vi.spyOn(CredentialCache.prototype, "drop").mockImplementation((id) => void kept.delete(id));
  const create = vi.spyOn(deployments, "createDeployment").mockRejectedValue(new Error("disk full"));
  try {
    const stream = await deploy({ registry_auth: { token: "t" } });
    await stream.ended;
    expect(stream.events).toMatchObject([{ code: "Internal" }]);
    expect([set.mock.calls.length, kept.size]).toEqual([1, 0]);
  } finally {
    for (const spy of [set, drop, create]) spy.mockRestore();
  }
});

test.each([
  ["DELETE", ""],
  ["POST", "/stop"],
  ["POST", "/start"],
  ["POST", "/restart"],
])("%s %s waits by the query parameter of the same name", async (method, action) => {
  const url = `${apps()}/web${action}?wait_for_device_s=60`;
  const stream = await openStream(url, { apiKey: account.apiKey, method });
  await stream.until("the wait", ({ events }) => events.length === 2);
  await using device = await online();
  expect((await device.next("command")).deployment_id).toBe(stream.deploymentId);
});

test("updates and groups wait, too", async () => {
  const updated = await openStream(`${apps()}/web`, {
    apiKey: account.apiKey,
    method: "PATCH",
    body: { image: "web:2", wait_for_device_s: 60 },
  });
  const applied = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apply`, {
    apiKey: account.apiKey,
    body: { project: "shop", apps: [{ app }], wait_for_device_s: 60 },
  });
  for (const stream of [updated, applied]) await stream.until("the wait", ({ events }) => events.length === 2);
  await using device = await online();
  expect(await device.next("command")).toMatchObject({ deployment_id: updated.deploymentId, spec: { image: "web:2" } });
  expect(await device.next("apply")).toMatchObject({ deployment_id: applied.deploymentId });
});

test("a longer wait than 30 days, or none that is a number, is refused", async () => {
  for (const wait of [30 * 24 * HOUR_S + 1, -1, 1.5, "60", null]) {
    const stream = await deploy({ wait_for_device_s: wait });
    await stream.ended;
    expect(stream.events).toMatchObject([{ status: "Fail", code: "InvalidRequest", deployment_id: "" }]);
  }
});

test("a repeated request joins the waiting deployment, and one with another wait is another request", async () => {
  const key = { "Idempotency-Key": "one" };
  const stream = await deploy({ wait_for_device_s: 60 }, key);
  const again = await deploy({ wait_for_device_s: 60 }, key);
  expect(again.deploymentId).toBe(stream.deploymentId);
  const other = await deploy({}, key);
  await other.ended;
  expect(other.events.at(-1)).toMatchObject({ code: "IdempotencyKeyReused" });
});
