import { expect, test } from "vitest";
import { StatsFeed, type StatsFeedOptions } from "../../../../../src/control-plane/devices/queries/stats-feed.ts";
import { EdgeError } from "../../../../../src/protocol/errors/errors.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const PARAMS = { follow: true, interval_s: 2 };

const usage = (app: string) => ({
  app,
  state: "running",
  cpu_percent: 1,
  memory_bytes: 1,
  memory_limit_bytes: null,
  network: null,
  disk: null,
  writable_bytes: null,
  processes: 1,
});
const stats = (measuredAt: number, ...apps: string[]) => ({
  measured_at: measuredAt,
  apps: apps.map(usage),
  omitted_apps: 0,
});

/** A feed whose query is never answered by itself; answers and the end are given to the feed by the test. */
function openFeed(options: Partial<StatsFeedOptions> = {}) {
  const clock = new FakeClock();
  let cancelled = 0;
  let silences = 0;
  const feed = new StatsFeed({
    clock,
    params: PARAMS,
    firstAnswerTimeoutMs: 10_000,
    openQuery: () => ({ [Symbol.dispose]: () => void cancelled++ }),
    onSilence: () => void silences++,
    ...options,
  });
  return { feed, clock, cancelled: () => cancelled, silences: () => silences };
}

async function all(feed: StatsFeed): Promise<(number | undefined)[]> {
  const times: (number | undefined)[] = [];
  for await (const one of feed.answers()) times.push(one?.measured_at);
  return times;
}

test("a client that does not read gets the newest measurement only, whatever the device sends", async () => {
  const { feed } = openFeed();
  for (let at = 1; at <= 10_000; at++) feed.answer(stats(at, "web"));
  expect((await feed.first()).measured_at).toBe(10_000);
  for (let at = 1; at <= 10_000; at++) feed.answer(stats(at, "web"));
  feed.end(undefined);
  expect(await all(feed)).toEqual([10_000]);
});

test("one look ends with the first answer", async () => {
  const { feed } = openFeed({ params: { ...PARAMS, follow: false } });
  feed.answer(stats(1, "web"));
  feed.answer(stats(2, "web"));
  expect(await feed.first()).toEqual(stats(1, "web"));
  expect(await all(feed)).toEqual([]);
});

test.each([
  ["about another app", { params: { ...PARAMS, app: "web" } }, stats(1, "other")],
  ["about an app twice", {}, stats(1, "web", "web")],
  ["that is none", {}, { measured_at: 1, apps: "all" }],
  ["with a number below zero", {}, { measured_at: 1, apps: [{ ...usage("web"), memory_bytes: -1 }] }],
  ["with more apps than allowed", {}, stats(1, ...Array.from({ length: 501 }, (_, index) => `app-${index}`))],
])("an answer %s is not passed on", async (_name, options, answer) => {
  const { feed } = openFeed(options);
  feed.answer(answer);
  await expect(feed.first()).rejects.toMatchObject({ code: "DeviceFailed" });
});

test("an end without an answer is a failure of the device", async () => {
  const { feed } = openFeed();
  feed.end(undefined);
  await expect(feed.first()).rejects.toMatchObject({ code: "DeviceFailed" });
});

test("a device that stops answering is not reachable", async () => {
  const { feed, clock, silences } = openFeed();
  feed.answer(stats(1, "web"));
  await feed.first();
  const rest = all(feed);
  rest.catch(() => undefined);
  await clock.advance(31_999);
  expect(silences()).toBe(0);
  await clock.advance(1);
  await expect(rest).rejects.toMatchObject({ code: "DeviceNotReachable" });
  expect(silences()).toBe(1);
});

test("what came before a failure is read before it is thrown", async () => {
  const { feed } = openFeed();
  feed.answer(stats(1, "web"));
  feed.end(new EdgeError("EngineUnavailable"));
  const reading = feed.answers();
  expect((await reading.next()).value).toMatchObject({ measured_at: 1 });
  await expect(reading.next()).rejects.toMatchObject({ code: "EngineUnavailable" });
});

test("while the device measures seldom, the stream is kept alive", async () => {
  const { feed, clock } = openFeed({ params: { ...PARAMS, interval_s: 60 } });
  feed.answer(stats(1, "web"));
  await feed.first();
  const next = feed.answers().next();
  await clock.advance(15_000);
  expect(await next).toEqual({ done: false, value: undefined });
});

test("disposing cancels the query", () => {
  const { feed, cancelled } = openFeed();
  feed[Symbol.dispose]();
  expect(cancelled()).toBe(1);
});
