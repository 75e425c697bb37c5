import { acknowledgedAtMsOf } from "../../../src/control-plane/core/deployment.ts";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { LinkedBus } from "../../../src/control-plane/bus/linked-bus.ts";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { type Clock, unixNow } from "../../../src/lib/clock.ts";
import { apiClient } from "../../support/api-client.ts";
import { createAccount, createAsset, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { type TestInstance, TestInstances } from "../../support/control-plane/test-instances.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { waitFor } from "../../support/wait-for.ts";

let instances: TestInstances;
let account: TestAccount;
let asset: TestAsset;

beforeEach(async () => {
  instances = await TestInstances.open();
  onTestFinished(() => instances[Symbol.asyncDispose]());
  account = await createAccount(instances.store, instances.clock);
  asset = await createAsset(instances.store, instances.clock, account);
});

const online = async ({ agentUrl }: TestInstance, held: readonly string[] = []): Promise<FakeDevice> => {
  const device = await FakeDevice.connect(agentUrl, asset.deviceToken, { held });
  onTestFinished(() => device[Symbol.asyncDispose]());
  return device;
};

const deploy = ({ url }: TestInstance, options: object = {}): Promise<EventStream> =>
  openStream(`${url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1", ...options },
  });

const read = ({ url }: TestInstance, id: string, after: number): Promise<EventStream> =>
  openStream(`${url}/v1/assets/${asset.uuid}/edge/deployments/${id}/events?after=${after}`, { apiKey: account.apiKey });

const seqs = (stream: EventStream): number[] => stream.events.map(({ seq }) => seq);
const messages = (stream: EventStream): string[] => stream.events.map(({ message }) => message);
const reachable = async (instance: TestInstance): Promise<unknown> =>
  (await apiClient(instance, account).get(`/v1/assets/${asset.uuid}/edge/apps`)).body["reachable"];

test("a deployment is requested at one instance, carried out by a device of another, and read at any", async () => {
  const [a, b, c] = [await instances.start(), await instances.start(), await instances.start()];
  const device = await online(a);
  const stream = await deploy(b);
  const { deployment_id: id } = await device.next("deploy");
  device.event(id, { message: "one" });
  await stream.until("the event", () => messages(stream).includes("one"));
  const other = await read(c, id, 1);
  device.success(id);
  await device.next("event_ack");
  expect(await stream.ended).toBe(true);
  expect(await other.ended).toBe(true);
  expect([seqs(stream), seqs(other)]).toEqual([
    [1, 2, 3],
    [2, 3],
  ]);
});

test("without messages between the instances a deployment goes on, with short pauses", async () => {
  const [a, b] = [await instances.start(), await instances.start()];
  const device = await online(a);
  a.link.state = "down";
  b.link.state = "down";
  const stream = await deploy(b);
  const { deployment_id: id } = await device.next("deploy");
  device.success(id);
  expect(await stream.ended).toBe(true);
  expect(seqs(stream)).toEqual([1, 2]);
});

test("an instance dies: its devices come back to another one, and the deployment and its stream go on there", async () => {
  const [a, b] = [await instances.start(), await instances.start()];
  const device = await online(a);
  const stream = await deploy(a);
  const { deployment_id: id } = await device.next("deploy");
  device.event(id, { message: "one" });
  await stream.until("the event", () => messages(stream).includes("one"));
  a.kill();
  await device.closed;
  const after = seqs(stream).at(-1) ?? 0;
  const again = await online(b, [id]);
  const rest = await read(b, id, after);
  again.event(id, { message: "two", device_seq: 2 });
  again.event(id, { status: "Success", message: "The app runs.", step: "done", device_seq: 3 });
  expect(await rest.ended).toBe(true);
  const all = [...seqs(stream), ...seqs(rest)];
  expect(all).toEqual(all.map((_, index) => index + 1));
  expect(messages(rest)).toEqual(["two", "The app runs."]);
});

test("a device that does not come back from a dead instance is noticed", async () => {
  const [a, b] = [await instances.start(), await instances.start()];
  const device = await online(a);
  const stream = await deploy(b);
  const { deployment_id: id } = await device.next("deploy");
  device.event(id, { message: "one" });
  await stream.until("the event", () => messages(stream).includes("one"));
  a.kill();
  expect(await reachable(b)).toBe(true);
  await stream.until("the loss", () => stream.events.at(-1)?.details?.["connection"] === "lost");
  await waitFor("the device is away", async () => (await reachable(b)) === false);
  const refused = await deploy(b);
  expect(await refused.ended).toBe(true);
  expect(refused.events.at(-1)).toMatchObject({ status: "Fail", code: "DeviceNotReachable" });
  const again = await online(b, [id]);
  again.event(id, { status: "Success", message: "The app runs.", step: "done", device_seq: 2 });
  expect(await stream.ended).toBe(true);
  expect(stream.events.at(-2)).toMatchObject({ details: { connection: "restored" } });
});

test("an instance stands still: what is asked of its devices is answered about the service, and is no failure of the device", async () => {
  const [a, b] = [await instances.start(), await instances.start()];
  const device = await online(a);
  a.freeze();
  const stream = await deploy(b);
  const waiting = await deploy(b, { wait_for_device_s: 600 });
  await stream.until("the end", () => stream.events.at(-1)?.status === "Fail");
  expect(stream.events.at(-1)).toMatchObject({
    code: "ServiceUnavailable",
    message:
      "The part of the service that the device is connected to does not respond. The device connects to another part by itself within a minute.",
  });
  // The second request waits, as its client asked.
  await waiting.until("the wait", () => waiting.events.at(-1)?.details?.["waiting_for"] === "device");
  expect(messages(waiting).at(-1)).toMatch(
    /^The part of the service .* does not respond; waiting for the device until/,
  );
  const api = apiClient(b, account);
  const asked = await api.get(`/v1/assets/${asset.uuid}/edge/stats`);
  expect([asked.status, asked.body["code"]]).toEqual([503, "ServiceUnavailable"]);
  const { body } = await api.get(`/v1/assets/${asset.uuid}`);
  expect(body["attention"]).toEqual(["update_waiting"]);
  // As after the watchdog has ended the instance.
  a.kill();
  await device.closed;
  const again = await online(b);
  const { deployment_id: id } = await again.next("deploy");
  again.success(id);
  expect(await waiting.ended).toBe(true);
  expect(waiting.events.at(-1)).toMatchObject({ status: "Success" });
});

test("a session that was ended although its instance is there is taken up again, and its device is not disturbed", async () => {
  const [a, b] = [await instances.start(), await instances.start()];
  const device = await online(a);
  const { sessions } = instances.store;
  const before = await sessions.find(asset.uuid);
  // As by another instance, which took the pause of this one for its end.
  await sessions.end([{ assetUuid: asset.uuid, epoch: before?.epoch ?? 0 }]);
  expect(await reachable(b)).toBe(false);
  new LinkedBus(instances.network.join()).publish(`session.${before?.instanceId}`);
  await waitFor("the session to be on record again", async () => (await reachable(b)) === true);
  expect(await sessions.find(asset.uuid)).toMatchObject({ instanceId: before?.instanceId });
  const stream = await deploy(b);
  const { deployment_id: id } = await device.next("deploy");
  device.success(id);
  expect(await stream.ended).toBe(true);
  expect(stream.events.at(-1)).toMatchObject({ status: "Success" });
});

test("an instance is stopped for an update: its devices go to another one, and no deployment fails meanwhile", async () => {
  const [a, b] = [await instances.start(), await instances.start()];
  const device = await online(a);
  const open = await deploy(a);
  const { deployment_id: id } = await device.next("deploy");
  const stopping = a.stop();
  expect(await device.next("goodbye")).toMatchObject({ retry_after_s: 1 });
  expect(await device.closed).toBe(CLOSE_CODES.restart);
  // The device is on its way.
  const stream = await deploy(b);
  await stopping;
  expect(await open.ended).toBe(true);
  expect(open.events.at(-1)?.details).toEqual({
    resume: `/v1/assets/${asset.uuid}/edge/deployments/${id}/events?after=${open.events.length}`,
  });
  const again = await online(b, [id]);
  const command = await again.next("deploy");
  for (const each of [id, command.deployment_id]) again.success(each);
  expect(await stream.ended).toBe(true);
  expect(stream.events.at(-1)).toMatchObject({ status: "Success" });
  const rest = await read(b, id, open.events.length);
  expect(await rest.ended).toBe(true);
  expect(rest.events.at(-1)).toMatchObject({ status: "Success" });
});

test("an instance that has lost the store for longer than its lease takes up its idle devices, and loses those that went elsewhere", async () => {
  const [a, b] = [await instances.start(), await instances.start()];
  const idle = await createAsset(instances.store, instances.clock, account);
  await using stays = await FakeDevice.connect(a.agentUrl, idle.deviceToken);
  const moved = await online(a);
  a.cutStore();
  const find = (uuid: string) => instances.store.sessions.find(uuid);
  await waitFor("the sessions end", async () => (await find(idle.uuid))?.instanceId === undefined);
  await using again = await FakeDevice.connect(b.agentUrl, asset.deviceToken);
  a.restoreStore();
  expect(await moved.closed).toBe(CLOSE_CODES.replaced);
  await waitFor("the session is taken up again", async () => (await find(idle.uuid))?.instanceId !== undefined);
  expect(await find(idle.uuid)).toMatchObject({ epoch: 2 });
  expect([stays.isClosed, again.isClosed]).toEqual([false, false]);
  const stream = await openStream(`${b.url}/v1/assets/${idle.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  stays.success((await stays.next("deploy")).deployment_id);
  expect(await stream.ended).toBe(true);
  expect(stream.events.at(-1)).toMatchObject({ status: "Success" });
});

test("a device that connects elsewhere is closed where it was, at once or, if nobody says so, soon", async () => {
  const clock = new FakeClock();
  await using own = await TestInstances.open({ clock });
  const [a, b] = [await own.start(), await own.start()];
  const { deviceToken } = await createAsset(own.store, clock, await createAccount(own.store, clock));
  await using first = await FakeDevice.connect(a.agentUrl, deviceToken);
  await using second = await FakeDevice.connect(b.agentUrl, deviceToken);
  expect(await first.closed).toBe(CLOSE_CODES.replaced);
  b.link.state = "down";
  await using third = await FakeDevice.connect(a.agentUrl, deviceToken);
  await third.flushed();
  expect(second.isClosed).toBe(false);
  await clock.advance(30_000);
  expect(await second.closed).toBe(CLOSE_CODES.replaced);
  expect(third.isClosed).toBe(false);
});

test("an instance whose machine's clock is ten minutes off changes no deadline, no time of an event and no lease", async () => {
  const clock = new FakeClock();
  await using own = await TestInstances.open({ clock, config: { deployment_timeout_s: 60 } });
  const a = await own.start();
  const wrong: Clock = {
    now: () => clock.now() + 600_000,
    timeOfDay: () => clock.now() + 600_000,
    deletionTime: () => clock.now() + 600_000,
    monotonic: () => 123 + clock.monotonic(),
    timer: (ms, callback) => clock.timer(ms, callback),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  const b = await own.start({ clock: wrong });
  account = await createAccount(own.store, clock);
  asset = await createAsset(own.store, clock, account);
  const device = await online(b);
  await clock.advance(30_000);
  const stream = await deploy(a);
  const { deployment_id: id } = await device.next("deploy");
  await waitFor("the acknowledgement", async () => {
    const found = await own.store.deployments.findDeployment(id);
    return found && acknowledgedAtMsOf(found) === clock.now();
  });
  await clock.advance(50_000);
  device.event(id, { message: "one" });
  await stream.until("the event", () => messages(stream).includes("one"));
  const times = stream.events.map(({ timestamp }) => timestamp);
  expect(times).toEqual([unixNow(clock) - 50, unixNow(clock)]);
  await clock.advance(11_000);
  await stream.until("the end", () => stream.events.at(-1)?.status === "Fail");
  expect(stream.events.at(-1)).toMatchObject({ code: "DeploymentTimeout" });
  expect(await own.store.instances.list()).toHaveLength(2);
});
