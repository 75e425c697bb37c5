import { afterEach, beforeEach, expect, test } from "vitest";
import { InProcessBus } from "../../../src/control-plane/bus/in-process-bus.ts";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

/** A service whose device connects to another instance on the same store, which the tests stand in for. */
let clock: FakeClock;
let bus: InProcessBus;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;

beforeEach(async () => {
  clock = new FakeClock();
  bus = new InProcessBus();
  control = await startControlPlane({ clock, bus });
  account = await control.account();
  asset = await control.asset(account);
});
afterEach(() => control[Symbol.asyncDispose]());

const deploy = () =>
  openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });

const online = () => FakeDevice.connect(control.agentUrl, asset.deviceToken);

const openElsewhere = () =>
  control.store.sessions.open({
    assetUuid: asset.uuid,
    sessionId: "elsewhere",
    instanceId: "ins_other",
    protocol: 3,
    at: 1,
  });

test("a session is on record from the welcome until the connection is closed", async () => {
  const find = () => control.store.sessions.find(asset.uuid);
  expect(await find()).toBeUndefined();
  const device = await online();
  expect(await find()).toMatchObject({ epoch: 1, instanceId: expect.stringMatching(/^ins_/) });
  await device[Symbol.asyncDispose]();
  await waitFor("the end of the session", async () => (await find())?.instanceId === undefined);
  await using _again = await online();
  expect(await find()).toMatchObject({ epoch: 2 });
  await control.restart();
  expect(await find()).toMatchObject({ epoch: 2, instanceId: undefined });
});

test("a frame for a session that another instance has replaced changes nothing, and closes it", async () => {
  await using device = await online();
  const stream = await deploy();
  await device.next("deploy");
  await waitFor("the acknowledgement", async () => {
    return (await control.store.deployments.findDeployment(stream.deploymentId))?.state.kind === "acknowledged";
  });
  await openElsewhere();
  device.success(stream.deploymentId);
  expect(await device.closed).toBe(CLOSE_CODES.replaced);
  expect(device.received.some(({ type }) => type === "event_ack")).toBe(false);
  const record = await control.store.deployments.findDeployment(stream.deploymentId);
  expect(record).toMatchObject({ state: { kind: "acknowledged" }, lastSeq: 1 });
  // The end of the old connection does not concern the new one.
  expect(await control.store.sessions.find(asset.uuid)).toMatchObject({ epoch: 2, instanceId: "ins_other" });
});

test("an idle session that another instance has replaced is closed when that is published, and no other", async () => {
  const other = await control.asset(account);
  await using bystander = await FakeDevice.connect(control.agentUrl, other.deviceToken);
  await using device = await online();
  const opened = await openElsewhere();
  if (opened?.replacedInstanceId === undefined) throw new Error("the device was connected");
  bus.publish(`session.${opened.replacedInstanceId}`);
  expect(await device.closed).toBe(CLOSE_CODES.replaced);
  expect(bystander.isClosed).toBe(false);
});

test("a request for a device of another instance wakes that one, and sends nothing from here", async () => {
  await using device = await online();
  await openElsewhere();
  const woken: (string | undefined)[] = [];
  using _wakes = bus.subscribeWakes("ins_other", (assetUuid) => woken.push(assetUuid));
  const stream = await deploy();
  await stream.until("its first event", ({ events }) => events.length === 1);
  expect(woken).toEqual([asset.uuid]);
  expect(device.received.map(({ type }) => type)).not.toContain("deploy");
  // The other instance has died: nobody acknowledges.
  await clock.advance(10_000);
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeviceNotReachable" });
  expect(woken).toEqual([asset.uuid, asset.uuid]);
});

test("what another instance has stored is delivered with a wake-up, once, however often it comes", async () => {
  await using device = await online();
  const stored = await control.store.sessions.find(asset.uuid);
  const holder = stored?.instanceId ?? "";
  const stream = await deploy();
  await device.next("deploy");
  for (let wakes = 0; wakes < 5; wakes++) bus.publishWake(holder, asset.uuid);
  const answer = await fetch(`${control.url}/v1/assets/${asset.uuid}/edge/deployments/${stream.deploymentId}`, {
    method: "DELETE",
    headers: { "X-API-Key": account.apiKey },
  });
  expect(answer.status).toBe(202);
  for (let wakes = 0; wakes < 5; wakes++) bus.publishWake(holder, asset.uuid);
  await device.next("cancel");
  device.send({
    type: "event",
    deployment_id: stream.deploymentId,
    event: { device_seq: 1, status: "Fail", message: "Undone.", step: "done", code: "DeploymentCancelled" },
  });
  await device.next("event_ack");
  await stream.ended;
  const types = device.received.map(({ type }) => type);
  expect(types.filter((type) => type === "deploy")).toHaveLength(1);
  expect(types.filter((type) => type === "cancel")).toHaveLength(1);
});
