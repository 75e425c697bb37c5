import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  JSON_LIMITS,
  JsonLimitError,
  MAX_NAME_BYTES,
  MAX_NESTING_DEPTH,
  parseBoundedJson,
} from "../../../src/protocol/values/bounded-json.ts";

const { maxValues, maxBytes } = JSON_LIMITS.short;

/** Values at all levels, and names of fields, without the document itself if it is neither an object nor a list. */
function valuesOf(value: unknown): number {
  if (Array.isArray(value)) return Math.max(1, value.length) + sum(value.map(inner));
  if (typeof value !== "object" || value === null) return 0;
  return Math.max(1, Object.keys(value).length * 2) + sum(Object.values(value).map(inner));
}

const inner = (value: unknown): number => valuesOf(value);
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
const named = (length: number): string => JSON.stringify({ ["n".repeat(length)]: "v".repeat(MAX_NAME_BYTES * 2) });
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
/** A list of text after text. Its own bracket stands for the first, each comma for one more. */
const list = (count: number, element: string): string => `[${Array.from({ length: count }, () => element).join()}]`;

describe("JSON from outside", () => {
  it("is what JSON.parse returns, as text and as bytes", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (json) => {
        const expected: unknown = JSON.parse(json);
        expect(parseBoundedJson(json, "registry")).toEqual(expected);
        expect(parseBoundedJson(Buffer.from(json), "registry")).toEqual(expected);
      }),
    );
  });

  it("is refused by the number of its values, wherever they are, and only by that", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 3 }), { minLength: 1, maxLength: 20 }), (values) => {
        const missing = maxValues - valuesOf(values) - valuesOf([[]]) + 1;
        fc.pre(missing > 1);
        const filled = (more: number): string =>
          JSON.stringify([...values, Array.from({ length: missing + more }, () => 0)]);
        expect(parseBoundedJson(filled(0), "short")).toHaveLength(values.length + 1);
        expect(() => parseBoundedJson(filled(1), "short")).toThrow(`has more than ${maxValues} values`);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ["texts", '"[{,:"'],
    ["escaped quotation marks", String.raw`"\"[[[\\"`],
    ["long texts", JSON.stringify("[{,:".repeat(100))],
    ["long texts with escapes", JSON.stringify(`${'"'.repeat(300)}[[[`)],
    ["long texts with a backslash at the end", JSON.stringify(`${"[".repeat(600)}\\`)],
  ])("counts nothing within %s", (_what, text) => {
    const exact = list(Math.min(maxValues, Math.floor(maxBytes / (text.length + 1)) - 1), text);
    expect(parseBoundedJson(exact, "short")).toContain(JSON.parse(text));
    expect(() => parseBoundedJson(list(maxValues + 1, '"["'), "short")).toThrow(JsonLimitError);
  });

  it("is refused where it is nested too deeply, as the text of a value is not", () => {
    expect(parseBoundedJson(nested(MAX_NESTING_DEPTH), "short")).toHaveLength(1);
    expect(() => parseBoundedJson(nested(MAX_NESTING_DEPTH + 1), "short")).toThrow("is nested more than 64 deep");
    expect(parseBoundedJson(`[${JSON.stringify("[".repeat(1000))}]`, "short")).toHaveLength(1);
  });

  it("is refused for a name that is too long, and not for a text", () => {
    expect(parseBoundedJson(named(MAX_NAME_BYTES), "short")).toBeTypeOf("object");
    expect(() => parseBoundedJson(named(MAX_NAME_BYTES + 1), "short")).toThrow("name is longer than 4096 bytes");
  });

  it("is refused for its bytes, in UTF-8", () => {
    expect(() => parseBoundedJson(JSON.stringify("x".repeat(maxBytes)), "short")).toThrow(
      `more than ${maxBytes} bytes`,
    );
    expect(() => parseBoundedJson(JSON.stringify("ä".repeat(maxBytes / 2)), "short")).toThrow(JsonLimitError);
  });

  it.each(["", "{", '"', '"\\', '{"a":', `"${"x".repeat(400)}`, `"${"x".repeat(400)}\\`, "[1,]", "]]]]{"])(
    "that is not valid is an error of its own: %j",
    (text) => {
      expect(() => parseBoundedJson(text, "short")).toThrow(SyntaxError);
    },
  );

  it("is counted whatever its bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        try {
          parseBoundedJson(bytes, "short");
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
      }),
    );
  });
});
