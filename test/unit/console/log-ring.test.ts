import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { logCounts, LogWindow, type LogRow } from "../../../src/console/pages/log/log-ring.ts";
import { LogPosition } from "../../../src/console/pages/log/log-reader.ts";

const line = (text: string, time = "2026-11-20T10:00:00.000000001Z") => ({ stream: "stdout", time, text }) as const;

const texts = (rows: readonly LogRow[]) => rows.map((row) => (row.kind === "omitted" ? row.lines : row.text));

const count = (row: LogRow) => (row.kind === "omitted" ? row.lines : 1);

describe("the ring of a log", () => {
  it("keeps the last lines and counts the others", () => {
    const ring = new LogWindow({ maxRows: 3, maxCharacters: 1000 });
    for (const text of ["a", "b", "c", "d", "e"]) ring.push(line(text));
    expect(texts(ring.rows())).toEqual(["c", "d", "e"]);
    expect(ring.droppedLines).toBe(2);
  });

  it("keeps a line that alone is larger than the bound", () => {
    const ring = new LogWindow({ maxRows: 3, maxCharacters: 10 });
    ring.push(line("short"));
    ring.push(line("x".repeat(100)));
    expect([ring.length, ring.droppedLines]).toEqual([1, 1]);
  });

  it("shows adjacent gaps as one, and counts those it no longer keeps", () => {
    const ring = new LogWindow({ maxRows: 2, maxCharacters: 1000 });
    ring.push({ omitted_lines: 120, omitted_bytes: 20_480 });
    ring.push({ omitted_lines: 3, omitted_bytes: 9 });
    expect(ring.rows()).toMatchObject([{ kind: "omitted", lines: 123, bytes: 20_489 }]);
    ring.push(line("a"));
    ring.push({ error: { code: "DeviceNotReachable", message: "Device not reachable" } });
    expect(ring.rows()).toMatchObject([{ text: "a" }, { kind: "note", isError: true, text: "Device not reachable" }]);
    expect(ring.droppedLines).toBe(123);
  });

  it("says how many lines are shown and how many are not: gaps and notes are no lines", () => {
    const ring = new LogWindow({ maxRows: 3, maxCharacters: 1000 });
    expect(logCounts(ring)).toBe("0 lines shown");
    ring.push(line("a"));
    ring.push({ omitted_lines: 1_234, omitted_bytes: 20_480 });
    ring.push({ error: { code: "DeviceNotReachable", message: "Device not reachable" } });
    expect(logCounts(ring)).toBe("1 line shown, 1,234 left out between them");
    ring.push({ omitted_lines: 6, omitted_bytes: 9 });
    ring.push(line("b"));
    expect(logCounts(ring)).toBe("1 line shown, 6 left out between them, 1,235 earlier ones no longer kept");
  });

  it("holds a log of 50 MB within its bounds", () => {
    const ring = new LogWindow();
    const text = "x".repeat(100);
    for (let index = 0; index < 500_000; index++) ring.push(line(text));
    expect(ring.length).toBe(5000);
    expect(ring.droppedLines).toBe(495_000);
  });

  it("loses no line without counting it, and never exceeds its bounds", () => {
    const entry = fc.oneof(
      fc.string({ maxLength: 20 }).map((text) => line(text)),
      fc.nat(50).map((lines) => ({ omitted_lines: lines, omitted_bytes: lines })),
    );
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 300 }), fc.integer({ min: 1, max: 20 }), (entries, maxRows) => {
        const ring = new LogWindow({ maxRows, maxCharacters: 60 });
        for (const each of entries) ring.push(each);
        const rows = ring.rows();
        const all = entries.reduce((sum, each) => sum + ("text" in each ? 1 : each.omitted_lines), 0);
        expect(ring.droppedLines + rows.reduce((sum, row) => sum + count(row), 0)).toBe(all);
        expect(ring.keptLines).toBe(rows.filter(({ kind }) => kind === "line").length);
        expect(ring.droppedLines + ring.keptLines + ring.leftOutLines).toBe(all);
        expect(rows.length).toBeLessThanOrEqual(maxRows);
        const characters = rows.reduce((sum, row) => sum + (row.kind === "line" ? row.text.length : 0), 0);
        expect(characters <= 60 || rows.length === 1).toBe(true);
        expect(rows).toEqual(rows.map((_, index) => ring.at(index)));
        expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
      }),
    );
  });
});

describe("the position in a log", () => {
  const times = fc
    .array(fc.nat(6), { minLength: 1, maxLength: 30 })
    .map((values) =>
      values.toSorted((a, b) => a - b).map((ns, index) => line(String(index), `2026-11-20T10:00:00.00000000${ns}Z`)),
    );

  it("takes a stream up again without repeating or losing a line", () => {
    fc.assert(
      fc.property(times, fc.nat(30), (lines, cutAt) => {
        const position = new LogPosition();
        const before = lines.slice(0, cutAt).filter((each) => position.advance(each));
        position.resume();
        // The service sends everything since that second.
        const after = lines.filter((each) => position.advance(each));
        expect([...before, ...after].map(({ text }) => text)).toEqual(lines.map(({ text }) => text));
      }),
    );
  });

  it("asks for nothing before the first line, and then since its second", () => {
    const position = new LogPosition();
    expect(position.since).toBeUndefined();
    position.advance(line("a", "2026-11-20T10:00:00.9Z"));
    expect(position.since).toBe(1_795_168_800);
  });
});
