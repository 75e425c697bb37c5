import { afterAll, beforeAll, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const app = { name: "web", image: "registry.example.com/web:1" };

test("a deployment is sent to the device and its events are streamed to the byte", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const body = { ...app, environments: [{ key: "A", value: "1" }], ports: [{ host_port: 30_001, target_port: 80 }] };
  const stream = await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, { apiKey: account.apiKey, body });
  expect(stream.status).toBe(200);
  expect(stream.headers).toMatchObject({
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
  });
  const command = await device.next("deploy");
  const id = stream.deploymentId;
  expect(command).toEqual({
    type: "deploy",
    deployment_id: id,
    spec: { ...body, host_network: false, privileged: false, volumes: [] },
  });
  device.event(id, { step: "pulling", message: "Pulling.", progress: 50, bytes: { done: 5, total: 10 } });
  expect((await device.next("event_ack")).device_seq).toBe(1);
  device.success(id);
  expect((await device.next("event_ack")).device_seq).toBe(2);
  expect(await stream.ended).toBe(true);
  const [first, second, third] = stream.events.map(({ timestamp }) => timestamp);
  expect(stream.text).toBe(
    `data: {"status":"Running","message":"Deployment received.","deployment_id":"${id}","seq":1,"timestamp":${first},"step":"received"}\n\n` +
      `data: {"status":"Running","message":"Pulling.","deployment_id":"${id}","seq":2,"timestamp":${second},"step":"pulling","progress":50,"bytes":{"done":5,"total":10}}\n\n` +
      `data: {"status":"Success","message":"The app runs.","deployment_id":"${id}","seq":3,"timestamp":${third},"step":"done"}\n\n`,
  );
});

test("without a connection the deployment fails at once", async () => {
  const { uuid } = await control.asset(account);
  const stream = await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, { apiKey: account.apiKey, body: app });
  expect(stream.status).toBe(200);
  expect(await stream.ended).toBe(true);
  expect(stream.events).toMatchObject([
    { status: "Running", seq: 1, step: "received" },
    { status: "Fail", seq: 2, code: "DeviceNotReachable", message: "Device not reachable" },
  ]);
});
