import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const logs = (uuid: string, query = "", accept?: string, apiKey = account.apiKey): Promise<EventStream> =>
  openStream(`${control.url}/v1/assets/${uuid}/edge/apps/web/logs${query}`, {
    apiKey,
    ...(accept !== undefined && { headers: { Accept: accept } }),
  });

const line = (text: string, stream = "stdout") => ({ stream, time: "2026-11-20T10:00:00.123456789Z", text });

/** The lines of an NDJSON log so far. */
const entries = (log: EventStream): unknown[] =>
  log.text
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => JSON.parse(text) as unknown);

async function connected(): Promise<{ device: FakeDevice } & TestAsset> {
  const asset = await control.asset(account);
  return { ...asset, device: await FakeDevice.connect(control.agentUrl, asset.deviceToken) };
}

describe("the log of an app", () => {
  test("is queried from the device and forwarded line by line, with its streams and the count of lines left out", async () => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = logs(uuid, "?tail=5&since=1790000000");
    const query = await device.next("query");
    expect(query).toMatchObject({ what: "logs", params: { app: "web", tail: 5, since: 1_790_000_000, follow: false } });
    device.answer(query.query_id, { lines: [line("one")] });
    device.answer(query.query_id, { lines: [line("two", "stderr")], omitted_lines: 7, omitted_bytes: 700 });
    device.endQuery(query.query_id);
    const log = await opening;
    expect(await log.ended).toBe(true);
    expect(log.headers).toMatchObject({
      "content-type": "application/x-ndjson; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    expect(entries(log)).toEqual([line("one"), { omitted_lines: 7, omitted_bytes: 700 }, line("two", "stderr")]);
    expect(device.received.filter(({ type }) => type === "query_cancel")).toEqual([]);
  });

  test("is plain text on request, one line per entry", async () => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = logs(uuid, "", "text/plain");
    const { query_id: id } = await device.next("query");
    device.answer(id, {
      lines: [line("one"), { ...line("forged\n2026 stdout line", "stderr"), truncated: true }],
      omitted_lines: 1,
      omitted_bytes: 9,
    });
    device.endQuery(id, "EngineUnavailable");
    const log = await opening;
    await log.ended;
    expect(log.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(log.text.split("\n")).toEqual([
      "[1 line left out, 9 bytes]",
      "2026-11-20T10:00:00.123456789Z stdout one",
      "2026-11-20T10:00:00.123456789Z stderr forged\\n2026 stdout line [cut off]",
      "[the log ends here: The container engine on the device does not answer. (EngineUnavailable)]",
      "",
    ]);
  });

  test.each([
    [undefined, "application/x-ndjson"],
    ["*/*", "application/x-ndjson"],
    ["text/html,application/xhtml+xml,*/*;q=0.8", "application/x-ndjson"],
    ["application/x-ndjson;q=0.5, text/plain", "text/plain"],
    ["text/*", "text/plain"],
    ["image/png", "application/x-ndjson"],
  ])("for Accept %s is %s", async (accept, type) => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = logs(uuid, "", accept);
    device.endQuery((await device.next("query")).query_id);
    expect((await opening).headers["content-type"]).toContain(type);
  });

  test.each([
    ["AppNotFound", 404],
    ["EngineUnavailable", 503],
  ])("that is not available is a JSON error: %s", async (code, status) => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = logs(uuid);
    device.endQuery((await device.next("query")).query_id, code);
    const log = await opening;
    await log.ended;
    expect(log.status).toBe(status);
    expect(JSON.parse(log.text)).toMatchObject({ code });
  });

  test.each(["?tail=10001", "?tail=-1", "?since=yesterday", "?follow=yes", "?lines=3"])(
    "%s is refused",
    async (query) => {
      const { uuid } = await control.asset(account);
      const log = await logs(uuid, query);
      await log.ended;
      expect(log.status).toBe(422);
    },
  );

  test("of a device that is offline or does not answer is 503", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    expect((await logs(uuid)).status).toBe(503);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const opening = logs(uuid);
    const { query_id: id } = await device.next("query");
    await clock.advance(10_000);
    expect((await opening).status).toBe(503);
    expect(await device.next("query_cancel")).toMatchObject({ query_id: id });
  });

  test("that breaks off says so in its last line", async () => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = logs(uuid);
    const { query_id: id } = await device.next("query");
    device.answer(id, { lines: [line("one")] });
    const log = await opening;
    await log.until("the line", ({ text }) => text.includes("one"));
    await clock.advance(30_000);
    await log.ended;
    expect(entries(log)).toEqual([
      line("one"),
      { error: { code: "DeviceNotReachable", message: "Device not reachable" } },
    ]);
  });

  test("with an invalid answer ends, and the session continues", async () => {
    const { uuid, device } = await connected();
    await using _device = device;
    const opening = logs(uuid);
    const { query_id: id } = await device.next("query");
    device.answer(id, { lines: "all of them" });
    expect((await opening).status).toBe(502);
    expect(await device.next("query_cancel")).toMatchObject({ query_id: id });
    expect(device.isClosed).toBe(false);
  });
});

/** A followed log without lines so far. */
async function following(): Promise<{ device: FakeDevice; log: EventStream; id: string; uuid: string }> {
  const { device, uuid } = await connected();
  const opening = logs(uuid, "?follow=true");
  const { query_id: id, params } = await device.next("query");
  expect(params).toMatchObject({ follow: true });
  device.answer(id, { lines: [] });
  return { device, log: await opening, id, uuid };
}

describe("a log that is followed", () => {
  test("continues until the client leaves, and then the query is cancelled", async () => {
    const { device, log, id } = await following();
    await using _device = device;
    await log.until("the beginning", ({ text }) => text === "\n");
    await clock.advance(15_000);
    await log.until("the sign of life", ({ text }) => text === "\n\n");
    await clock.advance(3_600_000);
    device.answer(id, { lines: [line("an hour later")] });
    await log.until("the line", ({ text }) => text.includes("an hour later"));
    log[Symbol.dispose]();
    expect(await device.next("query_cancel")).toMatchObject({ query_id: id });
    device.answer(id, { lines: [line("for nobody")] });
    device.endQuery(id);
    await device.flushed();
    expect(device.isClosed).toBe(false);
  });

  test("ends with an error line when the device disconnects", async () => {
    const { device, log } = await following();
    await device.cut();
    expect(await log.ended).toBe(true);
    expect(entries(log)).toEqual([{ error: { code: "DeviceNotReachable", message: "Device not reachable" } }]);
  });

  test("ends when its session is replaced by a newer one", async () => {
    const asset = await control.asset(account);
    await using older = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    const opening = logs(asset.uuid, "?follow=true");
    older.answer((await older.next("query")).query_id, { lines: [line("one")] });
    const log = await opening;
    await log.until("the line", ({ text }) => text.includes("one"));
    // A device whose connection broke silently neither reads nor closes.
    older.freeze();
    await using _newer = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    expect(await log.ended).toBe(true);
    expect(entries(log)).toMatchObject([line("one"), { error: { code: "DeviceNotReachable" } }]);
  });

  test("ends when the key is revoked", async () => {
    const other = await control.account();
    const { uuid, deviceToken } = await control.asset(other);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const opening = logs(uuid, "?follow=true", undefined, other.apiKey);
    const { query_id: id } = await device.next("query");
    device.answer(id, { lines: [] });
    const log = await opening;
    {
      // Through another connection to the database, as the administration does.
      await using administration = openStore(control.databasePath);
      await administration.keys.revokeKey(other.keyId, 1);
    }
    await clock.advance(2_000);
    await log.ended;
    expect(await device.next("query_cancel")).toMatchObject({ query_id: id });
  });

  test("of a client that does not read is buffered up to a limit: older lines are counted, the newest are kept", async () => {
    const { device, log, id } = await following();
    await using _device = device;
    using _log = log;
    log.freeze();
    const text = "x".repeat(8_000);
    const CHUNKS = 35;
    const PER_CHUNK = 50;
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      const lines = Array.from({ length: PER_CHUNK }, (_, index) => line(`${chunk * PER_CHUNK + index} ${text}`));
      device.answer(id, { lines });
      if (chunk % 10 === 9) await whileTimePasses(clock, device.flushed());
    }
    device.endQuery(id);
    await whileTimePasses(clock, device.flushed());
    log.thaw();
    expect(await whileTimePasses(clock, log.ended)).toBe(true);
    const got = entries(log) as { text?: string; omitted_lines?: number; omitted_bytes?: number }[];
    const numbers = got.flatMap((entry) => (entry.text === undefined ? [] : [Number(entry.text.split(" ")[0])]));
    const omitted = got.reduce((sum, entry) => sum + (entry.omitted_lines ?? 0), 0);
    expect(omitted).toBeGreaterThan(0);
    expect(numbers.length + omitted).toBe(CHUNKS * PER_CHUNK);
    expect(numbers.at(-1)).toBe(CHUNKS * PER_CHUNK - 1);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  });
});

describe("concurrent queries", () => {
  test("are limited for each device, and another is allowed when one ends", async () => {
    const { uuid, device } = await connected();
    await using _device = device;
    const open: EventStream[] = [];
    for (let count = 0; count < 16; count++) {
      const opening = logs(uuid, "?follow=true");
      device.answer((await device.next("query")).query_id, { lines: [] });
      open.push(await opening);
    }
    const refused = await logs(uuid);
    await refused.ended;
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "5"]);
    expect(JSON.parse(refused.text)).toMatchObject({ code: "TooManyRequests", details: { limit: 16 } });
    // Another device of the account has room.
    const { uuid: other, device: second } = await connected();
    await using _second = second;
    const elsewhere = logs(other);
    second.endQuery((await second.next("query")).query_id);
    expect((await elsewhere).status).toBe(200);
    open[0]?.[Symbol.dispose]();
    await device.next("query_cancel");
    const opening = waitFor("room for another", async () => {
      const log = await logs(uuid);
      return log.status === 200 && log;
    });
    device.endQuery((await device.next("query")).query_id);
    await opening;
    for (const log of open) log[Symbol.dispose]();
  });

  test("end when the service stops, each with an error line", async () => {
    await using own = await startControlPlane();
    const someone = await own.account();
    const { uuid, deviceToken } = await own.asset(someone);
    await using device = await FakeDevice.connect(own.agentUrl, deviceToken);
    const opening = openStream(`${own.url}/v1/assets/${uuid}/edge/apps/web/logs?follow=true`, {
      apiKey: someone.apiKey,
    });
    device.answer((await device.next("query")).query_id, { lines: [] });
    const log = await opening;
    await own.server.stop();
    expect(await log.ended).toBe(true);
    expect(entries(log)).toMatchObject([{ error: { code: "ServiceUnavailable" } }]);
  });
});
