import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Ends that depend on time or on the order of events, with a fake clock. */
let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;

beforeEach(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
  account = await control.account();
  asset = await control.asset(account);
});
afterEach(() => control[Symbol.asyncDispose]());

const app = { name: "web", image: "web:1" };

const deploy = (): Promise<EventStream> =>
  openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, { apiKey: account.apiKey, body: app });

const online = (options?: Parameters<typeof FakeDevice.connect>[2]): Promise<FakeDevice> =>
  FakeDevice.connect(control.agentUrl, asset.deviceToken, options);

const acknowledged = (id: string) => async (): Promise<boolean> =>
  (await control.store.deployments.findDeployment(id))?.state.kind === "acknowledged";

const cancel = async (id: string): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`${control.url}/v1/assets/${asset.uuid}/edge/deployments/${id}`, {
    method: "DELETE",
    headers: { "X-API-Key": account.apiKey },
  });
  return { status: response.status, body: await response.json() };
};

/** Waits until the control plane has handled the device's frames. */
async function settled(condition: () => Promise<boolean>): Promise<void> {
  await waitFor("the control plane", condition);
}

describe("the acknowledgement", () => {
  test("is missing for 10 s: not reachable, and the device is told to cancel", async () => {
    await using device = await online({ acknowledges: false });
    const stream = await deploy();
    await device.next("deploy");
    await clock.advance(9_999);
    expect(stream.events).toHaveLength(1);
    await clock.advance(1);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({
      status: "Fail",
      code: "DeviceNotReachable",
      message: "Device not reachable",
    });
    expect(await device.next("cancel")).toEqual({
      type: "cancel",
      deployment_id: stream.deploymentId,
      reason: "not_reachable",
    });
  });

  test("is refused by the device: the deployment ends at once, with the device's reason", async () => {
    await using device = await online({ acknowledges: false });
    const stream = await deploy();
    const refusal = { code: "InsufficientDisk", message: "The device's disk is full." };
    device.send({ type: "refuse", deployment_id: (await device.next("deploy")).deployment_id, ...refusal });
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ status: "Fail", ...refusal });
  });

  test("cannot be refused once it was given", async () => {
    await using device = await online();
    const stream = await deploy();
    await settled(acknowledged(stream.deploymentId));
    device.send({ type: "refuse", deployment_id: stream.deploymentId, code: "InsufficientDisk", message: "Full." });
    device.success(stream.deploymentId);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ status: "Success" });
  });

  test("that is late is answered with cancel, and so is a success; the failure that follows is acknowledged", async () => {
    await using device = await online({ acknowledges: false });
    const stream = await deploy();
    const id = stream.deploymentId;
    await device.next("deploy");
    await clock.advance(10_000);
    await device.next("cancel");
    device.ack(id);
    expect(await device.next("cancel")).toMatchObject({ deployment_id: id, reason: "not_reachable" });
    device.success(id);
    expect(await device.next("cancel")).toMatchObject({ deployment_id: id, reason: "not_reachable" });
    const last = device.event(id, { status: "Fail", message: "Undone.", step: "done", code: "DeploymentCancelled" });
    expect(await device.next("event_ack")).toMatchObject({ deployment_id: id, device_seq: last });
    expect(device.received.filter(({ type }) => type === "event_ack")).toHaveLength(1);
    expect(stream.events).toHaveLength(2);
  });

  test("that is missing also cuts a connection without a sign of life", async () => {
    const device = await online({ acknowledges: false });
    await deploy();
    await device.next("deploy");
    device.freeze();
    await clock.advance(10_000);
    await clock.advance(10_000);
    device.thaw();
    expect(await device.closed).toBe(1006);
  });
});

describe("the deadline", () => {
  test("passed: timeout, and the device is told to cancel", async () => {
    await using device = await online();
    const stream = await deploy();
    device.event(stream.deploymentId, { step: "pulling" });
    await device.next("event_ack");
    await clock.advance(15 * 60_000 - 1);
    expect(stream.events.at(-1)?.status).toBe("Running");
    await clock.advance(1);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeploymentTimeout", step: "pulling" });
    expect(await device.next("cancel")).toMatchObject({ reason: "timeout" });
  });

  test("also applies while the device is offline, which is told when it is back", async () => {
    const device = await online();
    const stream = await deploy();
    await settled(acknowledged(stream.deploymentId));
    await device.cut();
    await clock.advance(15 * 60_000);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeploymentTimeout" });
    await using back = await online({ held: [stream.deploymentId] });
    expect(await back.next("cancel")).toMatchObject({ deployment_id: stream.deploymentId, reason: "timeout" });
  });
});

describe("a stream", () => {
  test("is kept alive by a blank line every 15 s, and by nothing else", async () => {
    await using device = await online();
    const stream = await deploy();
    await settled(acknowledged(stream.deploymentId));
    await stream.until("the first event", ({ events }) => events.length === 1);
    const first = stream.text;
    await clock.advance(15_000);
    await stream.until("a blank line", ({ text }) => text === `${first}\n`);
    await clock.advance(14_999);
    await clock.advance(1);
    await stream.until("another", ({ text }) => text === `${first}\n\n`);
    device.success(stream.deploymentId);
    expect(await stream.ended).toBe(true);
    expect(stream.text.startsWith(`${first}\n\ndata: {"status":"Success"`)).toBe(true);
  });

  test("of a revoked key ends, and the deployment continues", async () => {
    await using device = await online();
    const stream = await deploy();
    await settled(acknowledged(stream.deploymentId));
    // Through another connection to the database, as the administration does.
    await using other = openStore(control.databasePath);
    await clock.advance(2_000);
    await other.keys.revokeKey(account.keyId, 1);
    await clock.advance(2_000);
    await stream.ended;
    expect(stream.events).toHaveLength(1);
    device.success(stream.deploymentId);
    expect(await device.next("event_ack")).toMatchObject({ device_seq: 1 });
  });
});

describe("cancelling", () => {
  test("is carried out by the device, which undoes the deployment and reports its end", async () => {
    await using device = await online();
    const stream = await deploy();
    const id = stream.deploymentId;
    await settled(acknowledged(id));
    expect(await cancel(id)).toMatchObject({ status: 202, body: { deployment_id: id, status: "Running" } });
    expect(await device.next("cancel")).toMatchObject({ deployment_id: id, reason: "requested" });
    device.event(id, {
      status: "Fail",
      message: "The deployment was cancelled.",
      step: "done",
      code: "DeploymentCancelled",
    });
    await stream.ended;
    expect(stream.events).toMatchObject([
      { seq: 1 },
      { seq: 2, status: "Running", details: { cancel: "requested" } },
      { seq: 3, status: "Fail", code: "DeploymentCancelled" },
    ]);
    expect(await cancel(id)).toMatchObject({ status: 200, body: { status: "Fail", code: "DeploymentCancelled" } });
  });

  test("takes precedence over a success in transit", async () => {
    await using device = await online();
    const stream = await deploy();
    const id = stream.deploymentId;
    await settled(acknowledged(id));
    await cancel(id);
    await device.next("cancel");
    device.success(id);
    expect(await device.next("cancel")).toMatchObject({ reason: "requested" });
    expect(stream.events.some(({ status }) => status === "Success")).toBe(false);
  });

  test("ends after a minute if the device does not confirm", async () => {
    await using device = await online();
    const stream = await deploy();
    await settled(acknowledged(stream.deploymentId));
    await cancel(stream.deploymentId);
    await device.next("cancel");
    await clock.advance(60_000);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
  });

  test("takes effect at once if the device is offline, which is told when it is back", async () => {
    const device = await online();
    const stream = await deploy();
    const id = stream.deploymentId;
    await settled(acknowledged(id));
    await device.cut();
    await stream.event("the loss", ({ details }) => details?.["connection"] === "lost");
    expect(await cancel(id)).toMatchObject({ status: 200, body: { code: "DeploymentCancelled" } });
    await stream.ended;
    await using back = await online({ held: [id] });
    expect(await back.next("cancel")).toMatchObject({ deployment_id: id, reason: "requested" });
  });

  test("of an unknown deployment is 404", async () => {
    expect(await cancel("dep_nothing")).toMatchObject({ status: 404, body: { code: "DeploymentNotFound" } });
  });
});
