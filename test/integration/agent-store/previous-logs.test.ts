import { appendFileSync, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPreviousLogs, type PreviousLogs } from "../../../src/agent/store/previous-logs.ts";
import type { AppLogLine } from "../../../src/protocol/apps/app-log.ts";
import { tempDir } from "../../support/temp-dir.ts";

let directory: Awaited<ReturnType<typeof tempDir>>;
let logs: PreviousLogs;

beforeEach(async () => {
  directory = await tempDir();
  logs = createPreviousLogs(directory.path);
});
afterEach(() => directory[Symbol.asyncDispose]());

const line = (text: string): AppLogLine => ({ stream: "stdout", time: "2026-11-22T08:00:00Z", text });
const fileOf = (app: string): string => join(directory.path, "previous-logs", `${app}.jsonl`);
const mode = (path: string): number => statSync(path).mode & 0o777;

test("what is kept is read again, in place of what was kept before", () => {
  logs.keep("app", [line("one")]);
  logs.keep("app", [{ ...line("two"), stream: "stderr", truncated: true }]);
  expect(logs.read("app")).toEqual([{ ...line("two"), stream: "stderr", truncated: true }]);
  expect(logs.read("other")).toEqual([]);
});

test("nobody else can read it", () => {
  logs.keep("app", [line("one")]);
  expect([mode(fileOf("app")), mode(join(directory.path, "previous-logs"))]).toEqual([0o600, 0o700]);
});

test("the latest lines are kept, up to a number and a size", () => {
  const many = Array.from({ length: 1_000 }, (_, index) => line(`line ${index}`));
  logs.keep("app", many);
  expect(logs.read("app").map(({ text }) => text)).toEqual(many.slice(-500).map(({ text }) => text));
  const long = Array.from({ length: 100 }, (_, index) => line(`${index} ${"x".repeat(8_000)}`));
  logs.keep("app", long);
  expect(statSync(fileOf("app")).size).toBeLessThanOrEqual(128 * 1024);
  const kept = logs.read("app").map(({ text }) => text);
  expect(kept.length).toBeGreaterThan(10);
  expect(kept).toEqual(long.slice(-kept.length).map(({ text }) => text));
});

test("lines of a damaged file that can be read are returned", () => {
  logs.keep("app", [line("one")]);
  appendFileSync(fileOf("app"), '{"stream":"stdout","timest\n\n\0\0\n["no line"]\n');
  expect(logs.read("app")).toEqual([line("one")]);
});

test("what is kept of an app goes with it, and of others with the next start", () => {
  logs.keep("app", [line("one")]);
  logs.keep("gone", [line("two")]);
  logs.keep("stays", [line("three")]);
  logs.remove("app");
  logs.remove("app");
  writeFileSync(`${fileOf("stays")}.123.tmp`, "left by a power cut");
  logs.removeOthers(["stays"]);
  expect(readdirSync(join(directory.path, "previous-logs"))).toEqual(["stays.jsonl"]);
});

test("without anything kept, nothing is made", () => {
  logs.removeOthers([]);
  logs.remove("app");
  expect(logs.read("app")).toEqual([]);
  expect(existsSync(join(directory.path, "previous-logs"))).toBe(false);
});
