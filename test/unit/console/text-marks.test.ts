import { assert, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { clip, splitMarks } from "../../../src/console/parts/text-marks.ts";

const shown = (text: string, keepsLines = false): string =>
  splitMarks(text, keepsLines)
    .map((part) => (part.isMark ? `[${part.text}]` : part.text))
    .join("");

describe("marks in a text", () => {
  it.each([
    ["plain, with <b>HTML</b>", "plain, with <b>HTML</b>"],
    ["a\u001B[31mred", "a[U+001B][31mred"],
    ["safe\u202Egnp.exe", "safe[U+202E]gnp.exe"],
    ["lone \uD800 half", "lone [U+D800] half"],
    ["zero\u200Bwidth\uFEFF", "zero[U+200B]width[U+FEFF]"],
    ["family 👨‍👩‍👧 in Persian می‌خواهم", "family 👨‍👩‍👧 in Persian می‌خواهم"],
    ["two\nlines", "two[U+000A]lines"],
  ])("%j is shown as %j", (text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it("keep lines and tabs of a log, and mark a carriage return", () => {
    expect(shown("one\n\ttwo\rthree", true)).toBe("one\n\ttwo[U+000D]three");
  });

  it("leave no control character to the browser, and nothing out", () => {
    assert(
      property(string({ unit: "binary" }), (text) => {
        const parts = splitMarks(text, false);
        expect(parts.filter(({ isMark }) => !isMark).some((part) => /\p{Cc}|\p{Bidi_Control}/u.test(part.text))).toBe(
          false,
        );
        const again = parts.map((part) =>
          part.isMark ? String.fromCodePoint(Number.parseInt(part.text.slice(2), 16)) : part.text,
        );
        expect(again.join("")).toBe(text);
      }),
    );
  });
});

describe("a long text", () => {
  it("is cut, and says how much is hidden", () => {
    expect(clip("abcdef", 4)).toEqual({ shown: "abcd", hidden: 2 });
    expect(clip("abcd", 4)).toEqual({ shown: "abcd", hidden: 0 });
  });

  it("is not cut inside a character", () => {
    expect(clip("ab👨c", 3)).toEqual({ shown: "ab", hidden: 3 });
  });
});
