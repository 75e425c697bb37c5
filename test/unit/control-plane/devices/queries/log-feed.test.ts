import { expect, test } from "vitest";
import type { LogEntry } from "../../../../../src/control-plane/core/log-entry.ts";
import { LogFeed, type LogFeedOptions } from "../../../../../src/control-plane/devices/queries/log-feed.ts";
import { EdgeError } from "../../../../../src/protocol/errors/errors.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const line = (text: string) => ({ stream: "stdout", time: "2026-11-20T10:00:00Z", text });

/** A feed whose query is never answered by itself; lines and the end are given to the feed by the test. */
function openFeed(options: Pick<LogFeedOptions, "isFollowing"> & Partial<LogFeedOptions>): LogFeed {
  return new LogFeed({
    clock: new FakeClock(),
    firstAnswerTimeoutMs: 10_000,
    openQuery: () => ({ [Symbol.dispose]: () => {} }),
    onSilence: () => {},
    ...options,
  });
}

async function all(feed: LogFeed): Promise<LogEntry[]> {
  const batches: (readonly LogEntry[])[] = [];
  for await (const batch of feed.batches()) batches.push(batch);
  return batches.flat();
}

const omittedOf = (entries: readonly LogEntry[]): number =>
  entries.reduce((sum, entry) => sum + ("omitted_lines" in entry ? entry.omitted_lines : 0), 0);

test("the buffer is bounded: the newest lines are kept, and one entry counts all others before them", async () => {
  const feed = openFeed({ isFollowing: true });
  const text = "x".repeat(1000);
  for (let count = 0; count < 10_000; count++) feed.answer({ lines: [line(`${count} ${text}`)] });
  feed.end(undefined);
  const [first, ...lines] = await all(feed);
  expect(first).toMatchObject({ omitted_lines: 10_000 - lines.length });
  expect(lines.length).toBeGreaterThan(400);
  expect(lines.length * text.length).toBeLessThan(520_000);
  const numbers = lines.map((entry) => ("text" in entry ? Number(entry.text.split(" ")[0]) : entry));
  expect(numbers).toEqual(Array.from(lines, (_, index) => 10_000 - lines.length + index));
});

test("gaps among lines that are left out are counted with them, others keep their place", async () => {
  const feed = openFeed({ isFollowing: true });
  const text = "x".repeat(8000);
  for (let count = 0; count < 100; count++) feed.answer({ lines: [line(text)], omitted_lines: 10, omitted_bytes: 100 });
  feed.end(undefined);
  const entries = await all(feed);
  const lines = entries.filter((entry) => "text" in entry).length;
  expect(lines + omittedOf(entries)).toBe(100 * 11);
  expect(entries.slice(-2)).toEqual([{ omitted_lines: 10, omitted_bytes: 100 }, line(text)]);
  expect(entries.every((entry, index) => index % 2 === 0 || "text" in entry)).toBe(true);
});

test("the buffer is also bounded for empty lines", async () => {
  const feed = openFeed({ isFollowing: true });
  for (let count = 0; count < 20_000; count++) feed.answer({ lines: [line("")] });
  feed.end(undefined);
  const entries = await all(feed);
  expect(entries.length).toBeLessThan(6_000);
  expect(omittedOf(entries)).toBeGreaterThan(14_000);
});

test("lines that come while a batch is read follow it", async () => {
  const feed = openFeed({ isFollowing: true });
  for (let count = 0; count < 100; count++) feed.answer({ lines: [line("x".repeat(8000))] });
  const reading = feed.batches();
  const read: LogEntry[] = [...((await reading.next()).value as readonly LogEntry[])];
  const omitted = omittedOf(read);
  expect(omitted).toBeGreaterThan(20);
  feed.answer({ lines: [line("later")] });
  while (read.length < 1 + 100 - omitted + 1) read.push(...((await reading.next()).value as readonly LogEntry[]));
  expect(read.at(-1)).toEqual(line("later"));
  expect(omittedOf(read)).toBe(omitted);
});

test("the lines that came before a failure are read before it is thrown", async () => {
  const feed = openFeed({ isFollowing: false });
  feed.answer({ lines: [line("one")] });
  feed.end(new EdgeError("EngineUnavailable"));
  await feed.waitForFirstAnswer();
  const reading = feed.batches();
  expect((await reading.next()).value).toEqual([line("one")]);
  await expect(reading.next()).rejects.toMatchObject({ code: "EngineUnavailable" });
});

test("a device without a first answer in time is not reachable", async () => {
  const clock = new FakeClock();
  let checks = 0;
  const feed = openFeed({ clock, isFollowing: true, onSilence: () => checks++ });
  const beginning = expect(feed.waitForFirstAnswer()).rejects.toMatchObject({ code: "DeviceNotReachable" });
  await clock.advance(10_000);
  await beginning;
  expect(checks).toBe(1);
});

test("a followed log may pause for any time after the first answer", async () => {
  const clock = new FakeClock();
  const feed = openFeed({ clock, isFollowing: true });
  feed.answer({ lines: [] });
  await feed.waitForFirstAnswer();
  await clock.advance(3_600_000);
  feed.answer({ lines: [line("later")] });
  feed.end(undefined);
  expect(await all(feed)).toEqual([line("later")]);
});

test("batches are bounded", async () => {
  const feed = openFeed({ isFollowing: true });
  for (let count = 0; count < 50; count++) feed.answer({ lines: [line("x".repeat(8000))] });
  feed.end(undefined);
  const lengths: number[] = [];
  for await (const batch of feed.batches()) lengths.push(JSON.stringify(batch).length);
  expect(Math.max(...lengths)).toBeLessThan(64 * 1024);
});

test("a log that is not followed yields no more lines than requested", async () => {
  const feed = openFeed({ isFollowing: false, maxLines: 2 });
  feed.answer({ lines: [line("one")] });
  feed.answer({ lines: [line("two"), line("three")] });
  feed.answer({ lines: [line("four")] });
  const reading = feed.batches();
  expect((await reading.next()).value).toEqual([line("one"), line("two")]);
  await expect(reading.next()).rejects.toMatchObject({ code: "DeviceFailed" });
});
