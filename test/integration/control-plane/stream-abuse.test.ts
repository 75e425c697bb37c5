import { beforeEach, expect, onTestFinished, test } from "vitest";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { STREAM_CHANNELS } from "../../../src/protocol/link/stream-data.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { RawStreamClient } from "../../support/raw-stream-client.ts";
import { waitFor } from "../../support/wait-for.ts";

let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;
let device: FakeDevice;

beforeEach(async () => {
  control = await startControlPlane();
  onTestFinished(() => control[Symbol.asyncDispose]());
  account = await control.account(["apps.forward", "apps.exec"]);
  asset = await control.asset(account);
  device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  onTestFinished(() => device[Symbol.asyncDispose]());
});

async function connect(app = "web", apiKey = account.apiKey): Promise<RawStreamClient> {
  const client = await RawStreamClient.connect(control.url, asset.uuid, app, apiKey);
  onTestFinished(() => client[Symbol.asyncDispose]());
  return client;
}

/** A client with an open forward. */
async function openForward(): Promise<{ readonly client: RawStreamClient; readonly id: number }> {
  const client = await connect();
  client.open(7, "forward", { port: 1880 });
  const { stream_id: id } = await device.next("stream_open");
  device.send({ type: "stream_opened", stream_id: id, credit: 65_536 });
  await client.next("stream_opened");
  return { client, id };
}

const opened = () => device.received.filter(({ type }) => type === "stream_open");
const auditEntries = () => control.store.audit.listEntries(account.accountId, 100);

test("a client that goes on after the end of its data is disconnected, and its device hears nothing of it", async () => {
  const { client, id } = await openForward();
  for (let i = 0; i < 30; i++) client.data(7, STREAM_CHANNELS.end, new Uint8Array());
  expect(await client.closed).toBe(CLOSE_CODES.badFrame);
  expect(await device.next("stream_close")).toMatchObject({ stream_id: id });
  expect(device.binary).toHaveLength(1);
  expect(device.isClosed).toBe(false);
});

test("a client whose key is revoked opens nothing more, even if it does not close its connection", async () => {
  const { client, id } = await openForward();
  // It does not see that it is being disconnected.
  client.freeze();
  // As by a command: the service detects what another process has written.
  await using other = openStore(control.databasePath);
  await other.keys.revokeKey(account.keyId, 1);
  expect(await device.next("stream_close")).toMatchObject({ stream_id: id });
  for (let i = 0; i < 3; i++) client.open(100 + i, "exec", { command: ["true"] });
  await client.flushed();
  await device.flushed();
  expect(opened()).toHaveLength(1);
});

test("a flood of sizes and of confirmations asked for does not reach the device as such, nor cut it off", async () => {
  const { client } = await openForward();
  device.freeze();
  for (let i = 0; i < 20_000; i++)
    client.send({ type: "stream_resize", stream_id: 7, columns: 80, rows: 1 + (i % 60) });
  client.send({ type: "stream_resize", stream_id: 7, columns: 132, rows: 43 });
  await client.flushed();
  device.thaw();
  const sizes = () => device.received.filter(({ type }) => type === "stream_resize");
  await waitFor("the last size", () => {
    const last = sizes().at(-1);
    return last?.type === "stream_resize" && last.columns === 132;
  });
  expect(device.isClosed).toBe(false);
});

test("the name of an app that no device could have does not reach the device", async () => {
  await expect(connect("x".repeat(513))).rejects.toThrow("HTTP 404");
  const client = await connect("x".repeat(512));
  client.open(1, "forward", { port: 1 });
  expect(await device.next("stream_open")).toMatchObject({ app: "x".repeat(512) });
});

test("what is refused for want of a permission is in the audit log", async () => {
  const forwarder = await control.key(account, ["apps.forward"]);
  const client = await connect("web", forwarder.apiKey);
  client.open(1, "exec", { command: ["psql", "postgres://user:planted@host"] });
  expect(await client.next("stream_close")).toMatchObject({ code: "Forbidden" });
  const nobody = await control.key(account, []);
  await expect(connect("web", nobody.apiKey)).rejects.toThrow("HTTP 403");
  const entries = await waitFor("both entries", async () => {
    const found = (await auditEntries()).filter(({ action }) => action === "remote_access.refused");
    return found.length === 2 && found;
  });
  expect(entries).toMatchObject([
    { actor: { id: nobody.keyId }, app: "web", outcome: "Forbidden", details: {} },
    { actor: { id: forwarder.keyId }, app: "web", outcome: "Forbidden", details: { kind: "exec", program: "psql" } },
  ]);
  expect(JSON.stringify(entries)).not.toContain("planted");
});

test("what the device refuses is in the audit log with its code", async () => {
  const client = await connect();
  client.open(1, "exec", { command: ["sh"] });
  const { stream_id: id } = await device.next("stream_open");
  device.send({ type: "stream_close", stream_id: id, code: "PolicyDenied", message: "not here" });
  expect(await client.next("stream_close")).toMatchObject({ code: "PolicyDenied" });
  await waitFor("the entry", async () => (await auditEntries())[0]?.outcome === "PolicyDenied");
});

test("an asset that is removed ends its streams", async () => {
  const { client } = await openForward();
  const response = await fetch(`${control.url}/v1/assets/${asset.uuid}`, {
    method: "DELETE",
    headers: { "X-API-Key": account.apiKey },
  });
  expect(response.status).toBeLessThan(300);
  expect(await client.next("stream_close")).toMatchObject({ stream_id: 7, code: "DeviceNotReachable" });
  client.open(8, "forward", { port: 1 });
  await waitFor("the refusal", () => client.frames.some(({ stream_id }) => stream_id === 8));
});

test.each([
  ["a reason of 5,000 characters", { type: "stream_close", code: "AppNotFound", message: "x".repeat(5_000) }],
  ["an exit code that none is", { type: "stream_close", exit_code: 256 }],
  ["credit that no client has", { type: "stream_credit", bytes: -1 }],
])("a device that sends %s ends its stream, not the client's patience", async (_what, frame) => {
  const { client, id } = await openForward();
  device.send(JSON.stringify({ ...frame, stream_id: id }));
  expect(await client.next("stream_close")).toMatchObject({ stream_id: 7, code: "DeviceFailed" });
  // The device is still of use.
  client.open(8, "forward", { port: 1880 });
  expect(await waitFor("the next stream", () => opened()[1])).toMatchObject({ kind: "forward" });
});
