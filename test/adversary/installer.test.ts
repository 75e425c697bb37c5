import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { AccountEvent } from "../../src/protocol/assets/account-event.ts";
import { CLOSE_CODES } from "../../src/protocol/link/frames.ts";
import { type ApiClient, apiClient } from "../support/api-client.ts";
import { type ControlPlane, startControlPlane } from "../support/control-plane.ts";
import { FakeDevice } from "../support/fake-device.ts";
import { addFleetRig, type FleetRig, imageOf } from "../support/fleets/fleet-rig.ts";
import { SimulatedDevice } from "../support/fleets/simulated-device.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * What somebody who may register devices and install them must not be able to do with it: to have the values that a fleet
 * delivers, to take the place of a device in service.
 */

let control: ControlPlane;
beforeAll(async () => {
  control = await startControlPlane({ config: { enrolment_rate_limit_per_minute: 10_000 } });
});
afterAll(() => control[Symbol.asyncDispose]());

const SECRET = "the-secret-of-the-fleet";

/** A fleet over all assets that has brought a secret value to one device, and an installer. */
async function setUp(): Promise<{ rig: FleetRig; installer: ApiClient }> {
  const rig = await addFleetRig(control, 1);
  onTestFinished(() => rig[Symbol.asyncDispose]());
  await rig.fleet("kiosks", {}, { selector: "*" });
  await rig.revision("kiosks", "one", { environments: [{ key: "TOKEN", value: SECRET, secret: true }] });
  const installer = apiClient(rig.control, await rig.control.key(rig.account, [], { role: "installer" }));
  return { rig, installer };
}

async function rollOut(rig: FleetRig): Promise<void> {
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
}

async function connectAs(rig: FleetRig, token: string): Promise<SimulatedDevice> {
  const device = new SimulatedDevice(rig.control.agentUrl, token);
  onTestFinished(() => device[Symbol.asyncDispose]());
  await device.connect();
  return device;
}

async function register(by: ApiClient, fields: object = {}): Promise<{ uuid: string; token: string }> {
  const { status, body } = await by.post("/v1/assets", {
    serial_number: `SN-${randomUUID()}`,
    type: "kiosk",
    ...fields,
  });
  expect(status).toBe(201);
  return { uuid: String(body["uuid"]), token: String(body["device_token"]) };
}

async function makeCode(by: ApiClient, uuid: string): Promise<string> {
  const { status, body } = await by.post(`/v1/assets/${uuid}/enrolment-codes`, {});
  expect(status).toBe(201);
  return String(body["code"]);
}

async function redeem(rig: FleetRig, code: string): Promise<{ status: number; token: string; code: unknown }> {
  const body = { code, nonce: randomBytes(24).toString("base64url") };
  const answer = await rig.api.post("/v1/enrolments", body);
  return { status: answer.status, token: String(answer.body["device_token"]), code: answer.body["code"] };
}

async function eventsOf({ control, account }: FleetRig): Promise<readonly AccountEvent["type"][]> {
  const { events } = await control.store.accountEvents.read(account.accountId, 0, 1_000);
  return events.map(({ event }) => event.type);
}

async function attentionOf(rig: FleetRig, uuid: string): Promise<unknown> {
  return (await rig.api.get(`/v1/assets/${uuid}`)).body["attention"];
}

test("a device that an installer registers gets nothing of a fleet's before an operator has accepted it", async () => {
  const { rig, installer } = await setUp();
  const { uuid, token } = await register(installer);
  const device = await connectAs(rig, token);
  const id = await rig.rollOut("kiosks");
  await waitFor("the rollout to wait for the new device", async () =>
    (await rig.targets("kiosks", id)).some((target) => target["asset_id"] === uuid && target["for"] === "acceptance"),
  );
  expect(await attentionOf(rig, uuid)).toEqual(["acceptance"]);
  for (const [filter, found] of [
    ["accepted=false", [uuid]],
    ["attention=acceptance", [uuid]],
    ["accepted=true", [rig.devices[0]?.uuid]],
  ] as const) {
    const { assets } = (await rig.api.get(`/v1/assets?${filter}`)).body as { assets: { uuid: string }[] };
    expect(assets.map((asset) => asset.uuid)).toEqual(found);
  }
  expect((await rig.api.get("/v1/overview")).body).toMatchObject({ reasons: { acceptance: 1 } });
  expect((await installer.post(`/v1/assets/${uuid}/accept`, undefined)).body).toMatchObject({
    code: "Forbidden",
    details: { permission: "assets.accept" },
  });
  expect(device.received).toEqual([]);
  const accepted = await rig.api.post(`/v1/assets/${uuid}/accept`, undefined);
  expect(accepted).toMatchObject({ status: 200, body: { accepted_at: expect.any(Number), attention: [] } });
  await rig.reach("kiosks", id, "succeeded");
  expect(JSON.stringify(device.received)).toContain(SECRET);
  expect(await eventsOf(rig)).toContain("asset.accepted");
});

test("a device that joins a fleet after its rollout waits for acceptance too", async () => {
  const { rig, installer } = await setUp();
  await rollOut(rig);
  const { uuid, token } = await register(installer);
  const device = await connectAs(rig, token);
  // Registered later, and served: what the fleet has for new members was looked at.
  const later = await rig.addDevice({});
  await waitFor("another one that joins to be served", () => later.device.received.length === 1);
  expect(device.received).toEqual([]);
  await rig.api.post(`/v1/assets/${uuid}/accept`, undefined);
  await waitFor("it to be served", () => device.received.length === 1);
});

test("nothing that changes which fleet an asset is in is an installer's", async () => {
  const { rig, installer } = await setUp();
  const { uuid } = await register(installer);
  const path = `/v1/assets/${uuid}/tags`;
  const refused = { status: 403, body: { code: "Forbidden", details: { permission: "assets.tag" } } };
  expect(await installer.put(path, { role: "kiosk" })).toMatchObject(refused);
  expect(await installer.patch(path, { role: "kiosk" })).toMatchObject(refused);
  expect(await installer.delete(path)).toMatchObject(refused);
  const serial = `SN-${randomUUID()}`;
  expect(await installer.post("/v1/assets", { serial_number: serial, accept: true })).toMatchObject({
    status: 403,
    body: { details: { permission: "assets.accept" } },
  });
  expect((await rig.api.get(`/v1/assets/${uuid}`)).body).toMatchObject({ tags: {}, accepted_at: null });
});

test("a code for an asset whose device has been connected is an operator's, and an earlier one is void", async () => {
  const { rig, installer } = await setUp();
  const { uuid, token } = await register(installer);
  const early = await makeCode(installer, uuid);
  const device = await FakeDevice.connect(rig.control.agentUrl, token);
  onTestFinished(() => device[Symbol.asyncDispose]());
  expect(await installer.post(`/v1/assets/${uuid}/enrolment-codes`, {})).toMatchObject({
    status: 403,
    body: { details: { permission: "enrolment.replace" } },
  });
  expect(await redeem(rig, early)).toMatchObject({ status: 409, code: "DeviceInService" });
  // Nor does a token help that an earlier code gave.
  const { uuid: other, token: first } = await register(installer);
  const { token: kept } = await redeem(rig, await makeCode(installer, other));
  await using _other = await FakeDevice.connect(rig.control.agentUrl, first);
  await expect(FakeDevice.connect(rig.control.agentUrl, kept)).rejects.toThrow(/401/);
  // Also while it is away.
  await device.cut();
  await waitFor("it to be away", async () => (await rig.api.get(`/v1/assets/${uuid}`)).body["connected"] === false);
  expect(await redeem(rig, early)).toMatchObject({ status: 409, code: "DeviceInService" });
  await using again = await FakeDevice.connect(rig.control.agentUrl, token);
  expect(again.isClosed).toBe(false);
});

test("of two devices that enrol as an asset the one has it that connects first, and it must be accepted", async () => {
  const { rig, installer } = await setUp();
  const { uuid, token } = await register(rig.api, { accept: true });
  expect((await rig.api.get(`/v1/assets/${uuid}`)).body).toMatchObject({ accepted_at: expect.any(Number) });
  const { status, token: mine } = await redeem(rig, await makeCode(installer, uuid));
  expect(status).toBe(201);
  // The operator had another device in mind.
  expect((await rig.api.get(`/v1/assets/${uuid}`)).body).toMatchObject({ accepted_at: null });
  await using _device = await FakeDevice.connect(rig.control.agentUrl, mine);
  await expect(FakeDevice.connect(rig.control.agentUrl, token)).rejects.toThrow(/401/);
  expect(await attentionOf(rig, uuid)).toEqual(["acceptance"]);
});

test("what waits for the device that an operator had in mind does not go to the one that an installer enrols", async () => {
  const { rig, installer } = await setUp();
  const { uuid } = await register(rig.api, { accept: true });
  const stream = await fetch(`${rig.control.url}/v1/assets/${uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": rig.account.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "web", image: imageOf("one"), wait_for_device_s: 3_600 }),
  });
  await stream.body?.cancel();
  const { token } = await redeem(rig, await makeCode(installer, uuid));
  await using device = await FakeDevice.connect(rig.control.agentUrl, token);
  await device.flushed();
  expect(device.received.filter(({ type }) => type === "deploy")).toEqual([]);
  expect(await attentionOf(rig, uuid)).not.toContain("device_replaced");

  await rig.api.post(`/v1/assets/${uuid}/accept`, undefined);
  expect(await device.next("deploy")).toMatchObject({ spec: { name: "web" } });
});

test("a device that takes the place of another gets nothing that was meant for that one, and everybody can see it", async () => {
  const { rig } = await setUp();
  await rollOut(rig);
  const [{ uuid, device: genuine }] = rig.devices as [FleetRig["devices"][number]];
  const other = await rig.addDevice({});
  await waitFor("the other one to be served", () => other.device.received.length === 1);
  // A command of the fleet and one of a person are under way to the device, which is away.
  await genuine.disconnect();
  await waitFor("it to be away", async () => (await rig.api.get(`/v1/assets/${uuid}`)).body["connected"] === false);
  const direct = { name: "other", image: imageOf("direct"), wait_for_device_s: 3_600 };
  const stream = await fetch(`${rig.control.url}/v1/assets/${uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": rig.account.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify(direct),
  });
  expect(stream.status).toBe(200);
  await stream.body?.cancel();

  const { status, token } = await redeem(rig, await makeCode(rig.api, uuid));
  expect(status).toBe(201);
  const impostor = await FakeDevice.connect(rig.control.agentUrl, token);
  onTestFinished(() => impostor[Symbol.asyncDispose]());
  await expect(genuine.connect()).rejects.toThrow(/401/);
  impostor.report({ hash: "1" });
  await rig.revision("kiosks", "two", { environments: [{ key: "TOKEN", value: SECRET, secret: true }] });
  const id = await rig.rollOut("kiosks");
  await waitFor("the rollout to wait for it", async () =>
    (await rig.targets("kiosks", id)).some((target) => target["asset_id"] === uuid && target["for"] === "acceptance"),
  );
  const price = await rig.api.get(`/v1/assets/${uuid}`);
  expect(price.body).toMatchObject({
    accepted_at: null,
    attention: ["device_replaced", "acceptance", "update_waiting"],
  });
  expect(await eventsOf(rig)).toContain("device.replaced");
  const audit = await rig.api.get(`/v1/audit?asset=${uuid}&action=device.replaced`);
  expect(audit.body["entries"]).toMatchObject([{ actor: { kind: "device", id: uuid }, outcome: "ok" }]);
  await impostor.flushed();
  expect(impostor.received.filter(({ type }) => type !== "welcome" && type !== "query")).toEqual([]);

  // A person's command of now reaches it: who gives it knows the device, and sends what it says.
  const now = fetch(`${rig.control.url}/v1/assets/${uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": rig.account.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "now", image: imageOf("now") }),
  });
  expect(await impostor.next("deploy")).toMatchObject({ spec: { name: "now" } });
  await (await now).body?.cancel();
  expect((await rig.api.get(`/v1/assets/${uuid}`)).body).toMatchObject({ accepted_at: null });

  await rig.api.post(`/v1/assets/${uuid}/accept`, undefined);
  expect(await impostor.next("deploy")).toMatchObject({ spec: { name: "other" } });
  expect(JSON.stringify(await impostor.next("apply"))).toContain(SECRET);
  expect(await attentionOf(rig, uuid)).not.toContain("device_replaced");
});

test("a dry run of a rollout asks no device that waits for acceptance", async () => {
  const { rig, installer } = await setUp();
  const { token } = await register(installer);
  const device = await connectAs(rig, token);
  const events = await fetch(`${rig.control.url}/v1/fleets/kiosks/rollouts?dry_run=true`, {
    method: "POST",
    headers: { "X-API-Key": rig.account.apiKey, "Content-Type": "application/json" },
    body: "{}",
  });
  expect(await events.text()).toContain("The device is not accepted yet.");
  expect(device.received).toEqual([]);
});

test("where an account accepts by itself, a device is served at once, and the one in service is replaced openly", async () => {
  const { rig, installer } = await setUp();
  await rollOut(rig);
  expect((await rig.api.get("/v1/enrolment-settings")).body).toEqual({ auto_accept: false });
  expect((await installer.patch("/v1/enrolment-settings", { auto_accept: true })).status).toBe(403);
  expect((await rig.api.patch("/v1/enrolment-settings", { auto_accept: true })).status).toBe(200);
  const { uuid, token } = await register(installer);
  const device = await connectAs(rig, token);
  await waitFor("it to be served", () => device.received.length === 1);
  const { token: next } = await redeem(rig, await makeCode(rig.api, uuid));
  await using _other = await FakeDevice.connect(rig.control.agentUrl, next);
  expect((await rig.api.get(`/v1/assets/${uuid}`)).body).toMatchObject({ accepted_at: expect.any(Number) });
  expect(await eventsOf(rig)).toContain("device.replaced");
  await expect(device.connect()).rejects.toThrow(/401/);
});

test("the connection of the device that was replaced is closed", async () => {
  const { rig } = await setUp();
  const { uuid, token } = await register(rig.api);
  const genuine = await FakeDevice.connect(rig.control.agentUrl, token);
  onTestFinished(() => genuine[Symbol.asyncDispose]());
  const { token: next } = await redeem(rig, await makeCode(rig.api, uuid));
  await using _other = await FakeDevice.connect(rig.control.agentUrl, next);
  expect([CLOSE_CODES.replaced, CLOSE_CODES.unauthorized]).toContain(await genuine.closed);
});
