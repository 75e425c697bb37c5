import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";
import { FakeDevice } from "../../support/fake-device.ts";

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const open = (uuid: string, query = ""): Promise<EventStream> =>
  openStream(`${control.url}/v1/assets/${uuid}/edge/${query}`, { apiKey: account.apiKey });

const usage = (app: string, memory = 1_000) => ({
  app,
  state: "running",
  cpu_percent: 3.4,
  memory_bytes: memory,
  memory_limit_bytes: 50_000,
  network: { received_bytes: 1, sent_bytes: 2, received_bytes_per_s: null, sent_bytes_per_s: null },
  disk: { read_bytes: 3, written_bytes: 4, read_bytes_per_s: 5, written_bytes_per_s: 6 },
  writable_bytes: null,
  processes: 7,
});
const stats = (measuredAt: number, ...apps: unknown[]) => ({ measured_at: measuredAt, apps, omitted_apps: 0 });

async function connected(protocol?: number): Promise<{ device: FakeDevice } & TestAsset> {
  const asset = await control.asset(account);
  const options = protocol === undefined ? {} : { protocol };
  return { ...asset, device: await FakeDevice.connect(control.agentUrl, asset.deviceToken, options) };
}

const lines = (stream: EventStream): unknown[] =>
  stream.text
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => JSON.parse(text) as unknown);

describe("what the apps of a device use", () => {
  test("is asked for once, and the query ends with the answer", async () => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = open(uuid, "stats");
    const query = await device.next("query");
    expect(query).toMatchObject({ what: "stats", params: { follow: false, interval_s: 2 } });
    expect(query.params).not.toHaveProperty("app");
    device.answer(query.query_id, stats(1_795_000_000, usage("db"), usage("web")));
    const response = await opening;
    await response.ended;
    expect([response.status, response.headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
    expect(JSON.parse(response.text)).toEqual(stats(1_795_000_000, usage("db"), usage("web")));
    expect(await device.next("query_cancel")).toMatchObject({ query_id: query.query_id });
  });

  test("is followed, one line for each measurement, until the client leaves", async () => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = open(uuid, "stats?app=web&follow=true&interval_s=60");
    const { query_id: id, params } = await device.next("query");
    expect(params).toEqual({ app: "web", follow: true, interval_s: 60 });
    device.answer(id, stats(1, usage("web")));
    const log = await opening;
    expect(log.headers).toMatchObject({ "content-type": "application/x-ndjson; charset=utf-8" });
    await log.until("the first", ({ text }) => text.includes('"measured_at":1,'));
    await clock.advance(15_000);
    await log.until("the sign of life", ({ text }) => text.endsWith("\n\n"));
    device.answer(id, stats(2, usage("web", 2_000)));
    await log.until("the second", ({ text }) => text.includes('"measured_at":2,'));
    expect(lines(log)).toEqual([stats(1, usage("web")), stats(2, usage("web", 2_000))]);
    log[Symbol.dispose]();
    expect(await device.next("query_cancel")).toMatchObject({ query_id: id });
  });

  test("that breaks off says so in its last line", async () => {
    const { uuid, device } = await connected();
    const opening = open(uuid, "stats?follow=true");
    device.answer((await device.next("query")).query_id, stats(1, usage("web")));
    const log = await opening;
    await log.until("the first", ({ text }) => text.includes('"measured_at":1,'));
    await device.cut();
    expect(await log.ended).toBe(true);
    expect(lines(log).at(-1)).toMatchObject({ error: { code: "DeviceNotReachable" } });
  });

  test.each([
    ["AppNotFound", 404],
    ["EngineUnavailable", 503],
  ])("that is not available is a JSON error: %s", async (code, status) => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = open(uuid, "stats?follow=true");
    device.endQuery((await device.next("query")).query_id, code);
    const response = await opening;
    await response.ended;
    expect(response.status).toBe(status);
    expect(JSON.parse(response.text)).toMatchObject({ code });
  });

  test("of a client that does not read is skipped, and the newest one is sent", async () => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = open(uuid, "stats?follow=true");
    const { query_id: id } = await device.next("query");
    device.answer(id, stats(1, usage("web")));
    using log = await opening;
    log.freeze();
    // Together more than the buffers of a connection take. The bytes of a device are read at a rate.
    const MANY = 60;
    const apps = Array.from({ length: 500 }, (_, index) => usage(`app-${index}`.padEnd(63, "x")));
    for (let at = 2; at <= MANY; at++) {
      device.answer(id, stats(at, ...apps));
      if (at % 10 === 0) await whileTimePasses(clock, device.flushed());
    }
    device.endQuery(id);
    await whileTimePasses(clock, device.flushed());
    log.thaw();
    expect(await whileTimePasses(clock, log.ended)).toBe(true);
    const received = lines(log) as { measured_at: number }[];
    expect(received.at(-1)?.measured_at).toBe(MANY);
    expect(received.length).toBeLessThan(MANY);
  });

  test.each(["?follow=yes", "?interval_s=0", "?interval_s=61", "?live=true", `?app=${"x".repeat(65)}`])(
    "%s is refused",
    async (query) => {
      const { uuid } = await control.asset(account);
      const response = await open(uuid, `stats${query}`);
      await response.ended;
      expect(response.status).toBe(422);
    },
  );

  test("of a device that is offline is 503", async () => {
    const { uuid } = await control.asset(account);
    expect((await open(uuid, "stats")).status).toBe(503);
  });

  test("of another account's device does not exist", async () => {
    const other = await control.account();
    const { uuid } = await control.asset(other);
    expect((await open(uuid, "stats")).status).toBe(404);
  });
});

describe("the log of earlier runs", () => {
  test("is asked for as such", async () => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = open(uuid, "apps/web/logs?previous=true&tail=5");
    const { query_id: id, params } = await device.next("query");
    expect(params).toEqual({ app: "web", tail: 5, follow: false, previous: true });
    device.endQuery(id);
    const log = await opening;
    await log.ended;
    expect([log.status, log.text.trim()]).toEqual([200, ""]);
  });

  test("cannot be followed", async () => {
    const { uuid } = await control.asset(account);
    const response = await open(uuid, "apps/web/logs?previous=true&follow=true");
    await response.ended;
    expect(response.status).toBe(422);
    expect(JSON.parse(response.text)).toMatchObject({ code: "InvalidRequest" });
  });
});
