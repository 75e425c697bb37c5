import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { type JsonValue, JsonValues } from "../../../../src/lib/layer-parts/json-values.ts";
import { LayoutError } from "../../../../src/lib/layer-parts/layer-layout.ts";

function read(text: string, cuts: readonly number[] = [], maxValueBytes = Infinity): JsonValue[] {
  const values = new JsonValues(maxValueBytes);
  const bytes = Buffer.from(text);
  const found: JsonValue[] = [];
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((one, other) => one - other);
  let start = 0;
  for (const end of ends) {
    found.push(...values.read(bytes.subarray(start, end)));
    start = end;
  }
  values.end();
  return found;
}

function expected(value: Readonly<Record<string, unknown>>): JsonValue[] {
  return Object.entries(value).flatMap(([key, own]) =>
    Array.isArray(own) ? own.map((element: unknown) => ({ key, value: element })) : [{ key, value: own }],
  );
}

/** As it comes back: JSON knows no -0. */
function plain(value: unknown): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}

describe("a JSON object as a stream", () => {
  it("has the values it has when it is read at once, wherever it is cut and however it is indented", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
        fc.array(fc.nat(), { maxLength: 5 }),
        fc.constantFrom(0, 1),
        (object, cuts, indent) => {
          expect(read(JSON.stringify(object, null, indent), cuts)).toEqual(expected(plain(object)));
        },
      ),
    );
  });

  it("is refused where JSON.parse refuses it", () => {
    const text = JSON.stringify({ version: 1, entries: [{ a: [1, "]"] }, 2, []], end: null });
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.constantFrom("", "{", "}", "[", "]", ",", ":", '"', "\\", "1", " "),
        (at, put) => {
          const changed = text.slice(0, at) + put + text.slice(at + 1);
          let parsed: unknown;
          try {
            parsed = JSON.parse(changed);
          } catch {
            expect(() => read(changed), changed).toThrow(LayoutError);
            return;
          }
          // What stands in an object under one key twice is found twice.
          if (JSON.stringify(parsed).length === changed.trim().length)
            expect(read(changed), changed).toEqual(expected(plain(parsed)));
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each([
    '{"a":[1,]}',
    '{"a":[,1]}',
    '{"a":[,]}',
    '{"a":1,}',
    "{,}",
    '{"a":[{}{}]}',
    '{"a":[x{},{}]}',
    '{"a":[\u00a0{}]}',
    '{"a":[{} 1]}',
    '{"a":[1 {}]}',
    '{"a":[{},]}',
    '{"a":[] 1}',
    '{"a":[][]}',
    '{"a"}',
    '{"a":}',
    "{}{}",
    "",
    '{"a":1]',
    '{"a":[1}',
  ])("is refused as %s", (text) => {
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(() => read(text)).toThrow(LayoutError);
  });

  it("tries to parse an element at once no more often than that is worth", () => {
    const elements = Array.from({ length: 20_000 }, (_, index) => ({ name: "}".repeat(8), index }));
    const text = JSON.stringify({ entries: elements });
    const parse = vi.spyOn(JSON, "parse");
    const values = read(text);
    expect(parse.mock.calls.length).toBeLessThan(25_000);
    parse.mockRestore();
    expect(values).toEqual(expected({ entries: elements }));
  });

  it("holds no value of more than the given bytes", () => {
    const text = JSON.stringify({ entries: ["short", "x".repeat(100)] });
    expect(() => read(text, [20, 40, 60, 80], 50)).toThrow("is too long");
    expect(read(text, [20, 40, 60, 80], 150)).toHaveLength(2);
  });
});
