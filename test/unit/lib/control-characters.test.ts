import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { journalEntry } from "../../../src/lib/log/journal-entry.ts";
import { formatJournalLine } from "../../../src/lib/log/journal.ts";
import { formatLogLine } from "../../../src/lib/log/readable-line.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import {
  escapeJson,
  sanitizeLine,
  sanitizeOutput,
  safeJson,
  sanitizeValue,
} from "../../../src/lib/terminal/sanitize.ts";
import { sanitizedText, sanitizedLine } from "../../../src/protocol/values/sanitized-text.ts";
import { tempDir } from "../../support/temp-dir.ts";

const ACTED_ON = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u200b\u2060\ufeff]/u;
const evil = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "\u001b[2J",
      "\u001b]0;x\u0007",
      "\u009b31m",
      "\u007f",
      "\u202e",
      "\u2066",
      "\u2028",
      "\u200b",
      "\n",
      "\r",
    ),
    fc.constantFrom("\u{e0041}", "\ud800", "=", "MESSAGE=forged", "READY=1", "<0>", "\u0000", "é", "a"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
  maxLength: 20,
});

const CONTROL_CODES = [...Array.from({ length: 0x20 }, (_, code) => code), 0x7f];

describe("plain text", () => {
  test.each(CONTROL_CODES)("with the control character %d is not plain", (code) => {
    const text = `a${String.fromCharCode(code)}b`;
    for (const safe of [sanitizeLine(text), sanitizeOutput(text, true).replace("\n", ""), safeJson(text)]) {
      expect(safe).toMatch(/^[ -~]+$/);
    }
    expect(escapeJson(text)).toMatch(code === 0x0a ? /^a\nb$/ : /^a\\u00[01257][0-9a-f]b$/);
  });

  test("stays as it is", () => {
    const plain = String.fromCharCode(...Array.from({ length: 0x7f - 0x20 }, (_, index) => 0x20 + index));
    expect([sanitizeLine(plain), sanitizeOutput(`${plain}\n`, false), escapeJson(`${plain}\n`)]).toEqual([
      plain,
      `${plain}\n`,
      `${plain}\n`,
    ]);
  });
});

const logLine = (msg: string, field: string): string =>
  `${JSON.stringify({ level: "info", time: "t", name: "edge-agent", msg, field, [field]: 1, err: { message: msg, stack: `${msg}\n at` } })}\n`;

describe("the log", () => {
  test("has one line for each, and nothing a terminal acts on, in every format", () => {
    fc.assert(
      fc.property(evil, evil, (msg, field) => {
        const line = logLine(msg, field);
        expect(formatLogLine(line.trimEnd())).not.toMatch(ACTED_ON);
        expect(formatJournalLine(line)).toMatch(/^<6>[^\n]*\n$/);
        expect(formatJournalLine(line).trimEnd()).not.toMatch(ACTED_ON);
        expect(formatJournalLine(`${field}\n`).replace(/\n$/, "")).not.toMatch(ACTED_ON);
      }),
    );
  });

  test("reaches the journal with the fields it has, and no others", () => {
    fc.assert(
      fc.property(evil, evil, (msg, field) => {
        const fields = readEntry(journalEntry(logLine(msg, field)) ?? Buffer.from(""));
        const [first, ...others] = fields;
        expect(first?.[0]).toBe("MESSAGE");
        for (const [name] of others) expect(name).toMatch(/^(?:PRIORITY|SYSLOG_(?:IDENTIFIER|PID)|EDGE_[A-Z0-9_]*)$/);
        for (const [, value] of fields) expect(value.replaceAll("\n", "")).not.toMatch(ACTED_ON);
        expect(first?.[1]).not.toContain("\n");
      }),
    );
  });

  test.each([true, false])("has no control characters in its file or on a terminal (pretty: %s)", async (pretty) => {
    await using directory = await tempDir();
    const path = join(directory.path, "log");
    const fd = openSync(path, "w");
    const logger = await createLogger({ name: "edge-agent", level: "info", fd, pretty });
    const texts = fc.sample(evil, 200);
    for (const text of texts) logger.info({ field: text, [text]: 1, err: new Error(text) }, `begin ${text}`);
    closeSync(fd);
    const written = readFileSync(path, "utf8").replaceAll(new RegExp(COLOUR, "g"), "");
    expect(written.split("\n").filter((line) => ACTED_ON.test(line))).toEqual([]);
    expect(written.split("\n").filter((line) => /^(?:MESSAGE|READY|<0>|forged)/.test(line))).toEqual([]);
    if (pretty) return;
    const read = written
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { field: string }).field);
    expect(read).toEqual(texts);
  });
});

const COLOUR = "\\u001b\\[[\\d;]*m";

/** Decodes the fields of an entry in the journal's native protocol. */
function readEntry(entry: Uint8Array): (readonly [name: string, value: string])[] {
  const fields: [string, string][] = [];
  let rest = Buffer.from(entry);
  while (rest.length > 0) {
    const end = rest.indexOf("\n");
    const head = rest.toString("utf8", 0, end);
    const equals = head.indexOf("=");
    if (equals >= 0) {
      fields.push([head.slice(0, equals), head.slice(equals + 1)]);
      rest = rest.subarray(end + 1);
      continue;
    }
    const length = Number(rest.readBigUInt64LE(end + 1));
    fields.push([head, rest.toString("utf8", end + 9, end + 9 + length)]);
    rest = rest.subarray(end + 9 + length + 1);
  }
  return fields;
}

describe("output", () => {
  test("has only lines, and the program's own colours", () => {
    fc.assert(
      fc.property(evil, (text) => {
        expect(sanitizeOutput(text, false).replaceAll("\n", "")).not.toMatch(ACTED_ON);
        const coloured = sanitizeOutput(`\u001b[1m${text}\u001b[0m`, true).replaceAll(new RegExp(COLOUR, "g"), "");
        expect(coloured.replaceAll("\n", "")).not.toMatch(ACTED_ON);
        expect(JSON.stringify(sanitizeValue({ text, list: [text] }))).not.toMatch(ACTED_ON);
      }),
    );
    expect(sanitizeOutput("\u001b[1mbold\u001b[0m\nGröße 👩‍🔧", true)).toBe("\u001b[1mbold\u001b[0m\nGröße 👩‍🔧");
    expect(sanitizeOutput("\u001b[1mbold", false)).toBe("\\x1b[1mbold");
  });

  test("in JSON is the same JSON", () => {
    fc.assert(
      fc.property(evil, (text) => {
        expect(safeJson({ text })).not.toMatch(ACTED_ON);
        expect(JSON.parse(safeJson({ text }))).toEqual({ text });
        expect(JSON.parse(escapeJson(JSON.stringify({ text }, undefined, 2)))).toEqual({ text });
      }),
    );
  });
});

describe("text reported by a device", () => {
  test("is kept without control characters, at the same length", () => {
    fc.assert(
      fc.property(evil, (text) => {
        expect(sanitizedLine(100).parse(text)).not.toMatch(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u);
        expect(
          sanitizedText(100)
            .parse(text)
            .replaceAll(/[\n\t]/g, ""),
        ).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
        expect(sanitizedLine(100).parse(text)).toHaveLength(text.length);
      }),
    );
    expect(sanitizedLine(100).parse("Debian GNU/Linux 13 (Größe)")).toBe("Debian GNU/Linux 13 (Größe)");
    expect(sanitizedLine(3).safeParse("four").success).toBe(false);
  });
});
