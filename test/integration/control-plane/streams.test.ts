import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { decodeStreamMessage, encodeArrival, encodeStreamData } from "../../../src/protocol/link/stream-data.ts";
import { MAX_STREAM_CREDIT } from "../../../src/protocol/link/streams.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { RawStreamClient } from "../../support/raw-stream-client.ts";
import { waitFor } from "../../support/wait-for.ts";

let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;

beforeEach(async () => {
  control = await startControlPlane();
  onTestFinished(() => control[Symbol.asyncDispose]());
  account = await control.account(["apps.forward", "apps.exec"]);
  asset = await control.asset(account);
});

const connect = (apiKey = account.apiKey, id = asset.uuid) => RawStreamClient.connect(control.url, id, "web", apiKey);

/** A client and a device with an open forward between them. */
async function openForward(credit = 65_536) {
  const device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  const client = await connect();
  onTestFinished(async () => {
    await client[Symbol.asyncDispose]();
    await device[Symbol.asyncDispose]();
  });
  client.open(7, "forward", { port: 1880 }, credit);
  const { stream_id: id, ...frame } = await device.next("stream_open");
  device.send({ type: "stream_opened", stream_id: id, credit: 1_000 });
  await client.next("stream_opened");
  return { device, client, id, frame };
}

const dataAt = (device: FakeDevice): Buffer =>
  Buffer.concat(
    device.binary.flatMap((message) => {
      const decoded = decodeStreamMessage(message);
      return decoded?.kind === "data" ? [decoded.bytes] : [];
    }),
  );

test("data, credit, size and the end pass between a client and its device", async () => {
  const { device, client, id, frame } = await openForward();
  expect(frame).toEqual({
    type: "stream_open",
    kind: "forward",
    app: "web",
    params: { port: 1880 },
    credit: 65_536,
    by: account.keyId,
  });
  client.data(7, 0, Buffer.from("to the app"));
  await waitFor("the data", () => dataAt(device).toString() === "to the app");
  device.send(Buffer.from(encodeStreamData(id, 0, Buffer.from("to the client"))));
  await waitFor("the answer", () => client.bytes === 13);
  client.send({ type: "stream_credit", stream_id: 7, bytes: 13 });
  expect(await device.next("stream_credit")).toMatchObject({ stream_id: id, bytes: 13 });
  client.send({ type: "stream_resize", stream_id: 7, columns: 80, rows: 25 });
  expect(await device.next("stream_resize")).toMatchObject({ stream_id: id, columns: 80, rows: 25 });
  device.send({ type: "stream_close", stream_id: id, exit_code: 3 });
  expect(await client.next("stream_close")).toEqual({ type: "stream_close", stream_id: 7, exit_code: 3 });
});

test("a client that disconnects closes its streams on the device", async () => {
  const { device, client, id } = await openForward();
  await client[Symbol.asyncDispose]();
  expect(await device.next("stream_close")).toMatchObject({ stream_id: id });
  await waitFor("the audit entry", async () => {
    const [last] = await control.store.audit.listEntries(account.accountId, 10);
    return last?.action === "remote_access.closed" && last.outcome === "ok";
  });
});

test("a device that disconnects ends its streams", async () => {
  const { device, client } = await openForward();
  await device.cut();
  expect(await client.next("stream_close")).toMatchObject({ stream_id: 7, code: "DeviceNotReachable" });
});

describe("who is refused", () => {
  test("no key, another account's key, a key without a permission", async () => {
    await expect(connect("")).rejects.toThrow("HTTP 401");
    const plain = await control.account();
    await expect(connect(plain.apiKey)).rejects.toThrow("HTTP 403");
    const other = await control.account(["apps.forward"]);
    await expect(connect(other.apiKey)).rejects.toThrow("HTTP 404");
  });

  test("a kind that the key may not open, and never reaches the device", async () => {
    const forwarder = await control.account(["apps.forward"]);
    asset = await control.asset(forwarder, { serialNumber: "other" });
    await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    await using client = await connect(forwarder.apiKey);
    client.open(1, "exec", { command: ["sh"] });
    expect(await client.next("stream_close")).toMatchObject({ code: "Forbidden" });
    await device.flushed();
    expect(device.received.filter(({ type }) => type === "stream_open")).toEqual([]);
  });

  test("a device that is not connected, and wrong parameters", async () => {
    await using client = await connect();
    client.open(1, "forward", { port: 80 });
    expect(await client.next("stream_close")).toMatchObject({ code: "DeviceNotReachable" });
    await using _device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    await using second = await connect();
    second.open(1, "read", { path: "relative" });
    expect(await second.next("stream_close")).toMatchObject({ code: "InvalidRequest" });
  });

  test("the seventeenth connection of an account", async () => {
    const clients: RawStreamClient[] = [];
    for (let i = 0; i < 16; i++) clients.push(await connect());
    await expect(connect()).rejects.toThrow("HTTP 429");
    await clients[0]?.[Symbol.asyncDispose]();
    await waitFor("room", async () => {
      clients.push(await connect());
      return true;
    });
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  });
});

describe("a client that does not keep to the protocol is disconnected", () => {
  test.each([
    ["data without credit", (client: RawStreamClient) => client.data(7, 0, new Uint8Array(1_001))],
    [
      "too much credit",
      (client: RawStreamClient) => client.send({ type: "stream_credit", stream_id: 7, bytes: MAX_STREAM_CREDIT }),
    ],
    ["an id twice", (client: RawStreamClient) => client.open(7, "forward", { port: 1 })],
    ["another message", (client: RawStreamClient) => client.raw(Uint8Array.of(9, 9))],
    ["another frame", (client: RawStreamClient) => client.send({ type: "deploy" })],
  ])("%s", async (_what, act) => {
    const { device, client, id } = await openForward();
    act(client);
    expect(await client.closed).toBe(CLOSE_CODES.badFrame);
    expect(await device.next("stream_close")).toMatchObject({ stream_id: id });
  });
});

describe("a device that does not keep to the protocol", () => {
  test("cannot send a client more than it takes", async () => {
    const { device, client, id } = await openForward(10);
    device.send(Buffer.from(encodeStreamData(id, 0, new Uint8Array(11))));
    expect(await client.next("stream_close")).toMatchObject({ code: "DeviceFailed" });
    expect(client.bytes).toBe(0);
  });

  test.each([
    ["data of a foreign stream", (id: number) => encodeStreamData(id + 1, 0, new Uint8Array(1))],
    ["confirmation of what was not sent", () => encodeArrival(5_000)],
    ["another message", () => Uint8Array.of(7)],
    ["an end twice", (id: number) => encodeStreamData(id, 3, new Uint8Array())],
  ])("is disconnected after twenty faults: %s", async (_what, message) => {
    const { device, id } = await openForward();
    for (let i = 0; i < 22; i++) device.send(Buffer.from(message(id)));
    expect(await device.closed).toBe(CLOSE_CODES.badFrame);
  });

  test("may send what was on its way when the client closed the stream", async () => {
    const { device, client, id } = await openForward();
    client.send({ type: "stream_close", stream_id: 7 });
    await device.next("stream_close");
    for (let i = 0; i < 30; i++) device.send(Buffer.from(encodeStreamData(id, 0, new Uint8Array(100))));
    device.send({ type: "stream_close", stream_id: id });
    await device.flushed();
    expect(device.isClosed).toBe(false);
    // From now on it is unknown.
    for (let i = 0; i < 22; i++) device.send(Buffer.from(encodeStreamData(id, 0, new Uint8Array(100))));
    expect(await device.closed).toBe(CLOSE_CODES.badFrame);
  });
});

test("a client that does not read delays neither the device's other frames nor another client", async () => {
  const { device, client, id } = await openForward(MAX_STREAM_CREDIT);
  client.freeze();
  for (let i = 0; i < 16; i++) device.send(Buffer.from(encodeStreamData(id, 0, new Uint8Array(16_384))));
  await using other = await connect();
  other.open(1, "forward", { port: 1 });
  const { stream_id: second } = await device.next("stream_open");
  device.send({ type: "stream_opened", stream_id: second, credit: 1 });
  device.send(Buffer.from(encodeStreamData(second, 0, Buffer.from("still here"))));
  await waitFor("the other client's data", () => other.bytes === 10);
});
