import { closeSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isJournalStream, formatJournalLine } from "../../../../src/lib/log/journal.ts";
import { formatLogLine } from "../../../../src/lib/log/readable-line.ts";
import { run } from "../../../support/command.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const line = (fields: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify({ level: "warn", time: "2026-11-20T12:00:00.000Z", name: "edge-agent", ...fields })}\n`;

describe("lines for the journal", () => {
  it.each([
    ["fatal", 2],
    ["error", 3],
    ["warn", 4],
    ["info", 6],
    ["debug", 7],
  ])("%s has priority %d", (level, priority) => {
    expect(formatJournalLine(line({ level, msg: "hello" }))).toBe(`<${priority}>hello\n`);
  });

  it("are one readable line, with the fields after the message", () => {
    const text = formatJournalLine(line({ app: "web", reason: "two words", count: 3, msg: "first\nsecond" }));
    expect(text).toBe('<4>first second app=web reason="two words" count=3\n');
  });

  it("keep text that is not a log line", () => {
    expect(formatJournalLine("plain\n")).toBe("plain\n");
    expect(formatLogLine("plain")).toBe("plain");
  });

  it("are written only to the stream systemd connected", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "log");
    const fd = openSync(path, "w");
    const { dev, ino } = statSync(path);
    try {
      expect(isJournalStream(fd, { JOURNAL_STREAM: `${dev}:${ino}` })).toBe(true);
      expect(isJournalStream(fd, { JOURNAL_STREAM: `${dev}:${ino + 1}` })).toBe(false);
      expect(isJournalStream(fd, {})).toBe(false);
    } finally {
      closeSync(fd);
    }
  });

  it("a logger on such a stream writes them, secrets masked", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "log");
    const script = [
      "exec >$LOG_FILE",
      'export JOURNAL_STREAM=$(stat -L -c "%d:%i" "$LOG_FILE")',
      `exec "$NODE" -e 'import("./src/lib/logger.ts").then(async ({ createLogger }) => (await createLogger({ name: "n", level: "info" })).error({ app: "web" }, "token ed_0123456789012345678901234567890123456789"))'`,
    ].join("\n");
    const { code, stderr } = await run("sh", ["-c", script], {
      env: {
        LOG_FILE: path,
        NODE: process.execPath,
        NODE_OPTIONS: "--disable-warning=ExperimentalWarning",
      },
    });
    expect([code, stderr]).toEqual([0, ""]);
    expect((await run("cat", [path])).stdout).toBe("<3>token ed_*** app=web\n");
  });
});
