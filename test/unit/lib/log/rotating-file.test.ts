import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readLogFiles } from "../../../../src/lib/log/read-log-files.ts";
import { RotatingFile } from "../../../../src/lib/log/rotating-file.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { fillDisk } from "../../../support/fill-disk.ts";
import { smallDisk, smallDiskUnavailableReason } from "../../../support/small-disk.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const missing = await smallDiskUnavailableReason();

const line = (level: string, msg: string): string => `${JSON.stringify({ level, msg })}\n`;
const messages = (path: string, maxFiles = 9): unknown[] =>
  (readLogFiles(path, 100_000, maxFiles) ?? []).map((text) => (JSON.parse(text) as { msg: string }).msg);

async function setUp(sizes: { maxBytes?: number; maxFiles?: number } = {}) {
  const directory = await tempDir();
  const path = join(directory.path, "agent.log");
  const clock = new FakeClock();
  const open = () => new RotatingFile({ path, maxBytes: 2_000, maxFiles: 3, clock, ...sizes });
  return { directory, path, clock, open, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() };
}

describe("a log file", () => {
  it("is flushed when the buffer is full, after half a minute, with a warning, and at the end", async () => {
    await using test = await setUp({ maxBytes: 100_000 });
    {
      using file = test.open();
      file.write(line("info", "held"));
      expect(existsSync(test.path)).toBe(false);
      await test.clock.advance(30_000);
      expect(messages(test.path)).toEqual(["held"]);
      file.write(line("info", "before"));
      file.write(line("warn", "urgent"));
      expect(messages(test.path)).toEqual(["held", "before", "urgent"]);
      file.write(line("info", "x".repeat(16_000)));
      file.write(line("info", "y".repeat(16_000)));
      expect(messages(test.path)).toHaveLength(5);
      file.write(line("info", "last"));
    }
    expect(messages(test.path).at(-1)).toBe("last");
    expect(test.clock.pending).toBe(0);
    expect(statSync(test.path).mode & 0o007).toBe(0);
  });

  it("never exceeds its size limit, and keeps the newest lines", async () => {
    await using test = await setUp();
    using file = test.open();
    for (let number = 0; number < 500; number++) file.write(line("warn", `m${number}`));
    const sizes = readdirSync(test.directory.path).map((name) => statSync(join(test.directory.path, name)).size);
    expect(sizes).toHaveLength(3);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2_000);
    const kept = messages(test.path);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => `m${500 - kept.length + index}`));
    expect(messages(test.path, 1).length).toBeLessThan(kept.length);
  });

  it("with a single file is truncated", async () => {
    await using test = await setUp({ maxFiles: 1 });
    using file = test.open();
    for (let number = 0; number < 100; number++) file.write(line("warn", `m${number}`));
    expect(readdirSync(test.directory.path)).toEqual(["agent.log"]);
    expect(messages(test.path).at(-1)).toBe("m99");
  });

  it("continues after a line that a power cut truncated", async () => {
    await using test = await setUp();
    appendFileSync(test.path, '{"level":"info","ms');
    using file = test.open();
    file.write(line("warn", "next"));
    expect(readFileSync(test.path, "utf8").split("\n")).toEqual([
      '{"level":"info","ms',
      line("warn", "next").trim(),
      "",
    ]);
  });

  it("that cannot be written drops and counts lines, and is retried", async () => {
    await using test = await setUp();
    mkdirSync(test.path);
    using file = test.open();
    for (let number = 0; number < 5; number++) file.write(line("warn", "lost"));
    rmSync(test.path, { recursive: true });
    file.write(line("warn", "too soon"));
    expect(existsSync(test.path)).toBe(false);
    await test.clock.advance(60_000);
    file.write(line("warn", "back"));
    expect(readFileSync(test.path, "utf8")).toMatch(/"lost":6.*could not be written.*\n.*back/);
  });

  it.skipIf(missing)("on a full disk goes on when there is room again", async () => {
    await using disk = await smallDisk(4);
    const clock = new FakeClock();
    const path = join(disk.path, "agent.log");
    using file = new RotatingFile({ path, maxBytes: 1_000_000, maxFiles: 2, clock });
    file.write(line("warn", "first"));
    const filler = fillDisk(disk.path);
    for (let number = 0; number < 2_000; number++) file.write(line("error", "x".repeat(100)));
    rmSync(filler);
    await clock.advance(60_000);
    file.write(line("warn", "back"));
    expect(readFileSync(path, "utf8")).toMatch(/first[^]*"lost":\d+[^]*"back"/);
  });
});

it("a missing log is not an empty one", async () => {
  await using directory = await tempDir();
  expect(readLogFiles(join(directory.path, "none"), 10, 3)).toBeUndefined();
});
