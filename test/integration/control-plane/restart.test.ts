import { afterEach, beforeEach, expect, test } from "vitest";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;

beforeEach(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
  account = await control.account();
});
afterEach(() => control[Symbol.asyncDispose]());

const deploy = (uuid: string): Promise<EventStream> =>
  openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });

const follow = (path: string): Promise<EventStream> => openStream(control.url + path, { apiKey: account.apiKey });

test("a restart during a deployment loses nothing: streams and devices are notified, and everything continues", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  const device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await deploy(uuid);
  const id = stream.deploymentId;
  device.event(id, { step: "pulling" });
  await device.next("event_ack");
  const idle = await FakeDevice.connect(control.agentUrl, (await control.asset(account)).deviceToken);
  await control.restart();
  expect(await stream.ended).toBe(true);
  const resume = `/v1/assets/${uuid}/edge/deployments/${id}/events?after=3`;
  expect(stream.events.at(-1)).toMatchObject({ seq: 3, status: "Running", step: "pulling", details: { resume } });
  expect(await device.next("goodbye")).toMatchObject({ retry_after_s: expect.any(Number) });
  expect(await device.closed).toBe(CLOSE_CODES.restart);
  expect(await idle.closed).toBe(CLOSE_CODES.restart);
  const resumed = await follow(resume);
  await using back = await FakeDevice.connect(control.agentUrl, deviceToken, { held: [id] });
  back.event(id, { device_seq: 2, status: "Success", message: "Up.", step: "done" });
  expect(await resumed.ended).toBe(true);
  expect(resumed.events).toMatchObject([{ seq: 4, status: "Success" }]);
  const whole = await follow(`/v1/assets/${uuid}/edge/deployments/${id}/events`);
  await whole.ended;
  expect(whole.events).toEqual([...stream.events, ...resumed.events]);
});

test("deadlines hold across a restart", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await deploy(uuid);
  const id = stream.deploymentId;
  device.event(id, {});
  await device.next("event_ack");
  await clock.advance(10 * 60_000);
  await control.restart();
  const resumed = await follow(`/v1/assets/${uuid}/edge/deployments/${id}/events?after=2`);
  await clock.advance(5 * 60_000 - 1);
  expect(resumed.events.some(({ status }) => status === "Fail")).toBe(false);
  await clock.advance(1);
  await resumed.ended;
  expect(resumed.events.at(-1)).toMatchObject({ status: "Fail", code: "DeploymentTimeout" });
});

test("a deployment not acknowledged before the restart keeps its time", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  const options = { acknowledges: false };
  const device = await FakeDevice.connect(control.agentUrl, deviceToken, options);
  const stream = await deploy(uuid);
  const id = stream.deploymentId;
  await device.next("deploy");
  await control.restart();
  await clock.advance(9_000);
  await using back = await FakeDevice.connect(control.agentUrl, deviceToken, options);
  expect(await back.next("deploy")).toMatchObject({ deployment_id: id, spec: { name: "web" } });
  await clock.advance(1_000);
  const resumed = await follow(`/v1/assets/${uuid}/edge/deployments/${id}/events`);
  await resumed.ended;
  expect(resumed.events.at(-1)).toMatchObject({ code: "DeviceNotReachable" });
  expect(await back.next("cancel")).toMatchObject({ deployment_id: id, reason: "not_reachable" });
});

test("a stream without a reader does not delay the others", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await deploy(uuid);
  stream.freeze();
  const filler = "x".repeat(30_000);
  const EVENTS = 250;
  for (let count = 0; count < EVENTS; count++) device.event(stream.deploymentId, { details: { filler } });
  await waitFor("all events", async () => {
    await clock.advance(1_000);
    return (await control.store.deployments.findDeployment(stream.deploymentId))?.lastDeviceSeq === EVENTS;
  });
  const stopped = control.server.stop();
  // At most ten times the grace period: hanging connections are cut.
  for (let second = 0; second < 30; second++) await clock.advance(1_000);
  await stopped;
});
