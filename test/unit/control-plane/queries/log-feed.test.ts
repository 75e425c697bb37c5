import { expect, test } from "vitest";
import type { LogEntry } from "../../../../src/control-plane/core/log-entry.ts";
import { LogFeed, type LogFeedOptions } from "../../../../src/control-plane/queries/log-feed.ts";
import { EdgeError } from "../../../../src/protocol/errors.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const line = (text: string) => ({ stream: "stdout", timestamp: "2026-11-20T10:00:00Z", text });

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

test("the buffer is bounded, and one entry counts all lines that did not fit", async () => {
  const feed = openFeed({ isFollowing: true });
  const text = "x".repeat(1000);
  for (let count = 0; count < 10_000; count++) feed.answer({ lines: [line(text)] });
  feed.end(undefined);
  const entries = await all(feed);
  const lines = entries.filter((entry) => "text" in entry);
  expect(lines.length * text.length).toBeLessThan(520_000);
  expect(entries.length).toBe(lines.length + 1);
  expect(lines.length + omittedOf(entries)).toBe(10_000);
});

test("the buffer is also bounded for empty lines", async () => {
  const feed = openFeed({ isFollowing: true });
  for (let count = 0; count < 20_000; count++) feed.answer({ lines: [line("")] });
  feed.end(undefined);
  const entries = await all(feed);
  expect(entries.length).toBeLessThan(6_000);
  expect(omittedOf(entries)).toBeGreaterThan(14_000);
});

test("once the reader has caught up, lines are buffered again after the count", async () => {
  const feed = openFeed({ isFollowing: true });
  for (let count = 0; count < 100; count++) feed.answer({ lines: [line("x".repeat(8000))] });
  const reading = feed.batches();
  const read: LogEntry[] = [];
  while (omittedOf(read) === 0) read.push(...((await reading.next()).value as readonly LogEntry[]));
  expect(read.at(-1)).toMatchObject({ omitted_lines: 100 - (read.length - 1) });
  feed.answer({ lines: [line("later")] });
  expect((await reading.next()).value).toEqual([line("later")]);
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
