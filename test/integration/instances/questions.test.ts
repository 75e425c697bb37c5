import { beforeEach, expect, onTestFinished, test } from "vitest";
import { decodeStreamMessage, encodeStreamData } from "../../../src/protocol/link/stream-data.ts";
import { apiClient } from "../../support/api-client.ts";
import { createAccount, createAsset, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { type TestInstance, TestInstances } from "../../support/control-plane/test-instances.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { RawStreamClient } from "../../support/raw-stream-client.ts";
import { waitFor } from "../../support/wait-for.ts";

/** The device is connected to the first instance; everything is asked of the second. */
const VOLUMES = { volumes: [], left_out: 0 };

let first: TestInstance;
let second: TestInstance;
let account: TestAccount;
let asset: TestAsset;
let device: FakeDevice;

beforeEach(async () => {
  const instances = await TestInstances.open();
  onTestFinished(() => instances[Symbol.asyncDispose]());
  first = await instances.start();
  second = await instances.start();
  account = await createAccount(instances.store, instances.clock, ["apps.forward", "apps.exec"]);
  asset = await createAsset(instances.store, instances.clock, account);
  device = await FakeDevice.connect(first.agentUrl, asset.deviceToken);
  onTestFinished(() => device[Symbol.asyncDispose]());
});

const path = (rest: string): string => `/v1/assets/${asset.uuid}/edge/${rest}`;
const get = (instance: TestInstance, rest: string) => apiClient(instance, account).get(path(rest));

const line = (text: string) => ({ stream: "stdout", time: "2026-11-20T10:00:00Z", text });

test("a question is answered by the device of another instance, which is reachable everywhere", async () => {
  const asked = get(second, "volumes");
  const query = await device.next("query");
  expect(query).toMatchObject({ what: "volumes" });
  device.answer(query.query_id, VOLUMES);
  expect(await asked).toMatchObject({ status: 200, body: VOLUMES });
  expect(await get(second, "apps")).toMatchObject({ status: 200, body: { reachable: true } });
});

test("a log is followed through another instance, until its client leaves", async () => {
  const opening = openStream(second.url + path("apps/web/logs?follow=true"), { apiKey: account.apiKey });
  const query = await device.next("query");
  device.answer(query.query_id, { lines: [line("one")] });
  const log = await opening;
  device.answer(query.query_id, { lines: [line("two")] });
  await log.until("two lines", ({ text }) => text.includes("one") && text.includes("two"));
  log[Symbol.dispose]();
  expect(await device.next("query_cancel")).toMatchObject({ query_id: query.query_id });
});

test("data pass both ways between a client of one instance and an app on a device of the other", async () => {
  await using client = await RawStreamClient.connect(second.url, asset.uuid, "web", account.apiKey);
  client.open(7, "forward", { port: 1880 });
  const { stream_id: id } = await device.next("stream_open");
  device.send({ type: "stream_opened", stream_id: id, credit: 1_000 });
  await client.next("stream_opened");
  client.data(7, 0, Buffer.from("to the app"));
  await waitFor("the data", () =>
    device.binary.some((message) => {
      const decoded = decodeStreamMessage(message);
      return decoded?.kind === "data" && Buffer.from(decoded.bytes).toString() === "to the app";
    }),
  );
  device.send(Buffer.from(encodeStreamData(id, 0, Buffer.from("to the client"))));
  await waitFor("the answer", () => client.bytes === 13);
});

test("the errors of a device and of its session are those that its own instance gives", async () => {
  await device[Symbol.asyncDispose]();
  await waitFor("the device is away", async () => (await get(second, "apps")).body["reachable"] === false);
  for (const instance of [first, second]) {
    expect(await get(instance, "volumes")).toMatchObject({ status: 503, body: { code: "DeviceNotReachable" } });
  }
  await using back = await FakeDevice.connect(first.agentUrl, asset.deviceToken);
  for (const instance of [first, second]) {
    const asked = get(instance, "data-usage");
    const query = await back.next("query");
    back.endQuery(query.query_id, "TooManyRequests", "busy");
    const { status, body } = await asked;
    expect({ status, code: body["code"] }).toEqual({ status: 502, code: "DeviceFailed" });
    expect(body["details"]).toEqual({ device_code: "TooManyRequests" });
  }
});

test("while instances cannot reach each other, the own devices of each answer, and others do not", async () => {
  first.link.state = "down";
  second.link.state = "down";
  const { status, body } = await get(second, "volumes");
  expect({ status, code: body["code"] }).toEqual({ status: 503, code: "ServiceUnavailable" });
  const asked = get(first, "volumes");
  device.answer((await device.next("query")).query_id, VOLUMES);
  expect(await asked).toMatchObject({ status: 200 });
  first.link.state = "up";
  second.link.state = "up";
  const again = get(second, "volumes");
  device.answer((await device.next("query")).query_id, VOLUMES);
  expect(await again).toMatchObject({ status: 200 });
});

test("a device has as many open questions as if all were asked of one instance", async () => {
  const open = Array.from({ length: 16 }, (_, index) => get(index % 2 === 0 ? first : second, "volumes"));
  const seen = [];
  for (let index = 0; index < open.length; index++) seen.push(await device.next("query"));
  for (const instance of [first, second]) {
    expect(await get(instance, "volumes")).toMatchObject({ status: 429, body: { code: "TooManyRequests" } });
  }
  for (const { query_id: id } of seen) device.answer(id, VOLUMES);
  for (const { status } of await Promise.all(open)) expect(status).toBe(200);
});
