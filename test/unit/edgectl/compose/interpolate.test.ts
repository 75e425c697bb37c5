import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { interpolate, TemplateError } from "../../../../src/edgectl/compose/interpolate.ts";

const VALUES: Readonly<Record<string, string>> = { A: "a", EMPTY: "", B_1: "b", _c: "c", DOLLAR: "$A" };
const lookup = (name: string): string | undefined => VALUES[name];
const expand = (template: string): string => interpolate(template, lookup);

describe("interpolation", () => {
  test.each([
    ["$A-$B_1-$_c", "a-b-c"],
    ["${A}${B_1}", "ab"],
    ["$$A $${A} 5$$", "$A ${A} 5$"],
    ["${NO:-d}|${NO-d}|${EMPTY:-d}|${EMPTY-d}|${A:-d}", "d|d|d||a"],
    ["${NO:-}|${NO-}", "|"],
    ["${A:+x}|${A+x}|${EMPTY:+x}|${EMPTY+x}|${NO+x}|${NO:+x}", "x|x||x||"],
    ["${A:?message}|${EMPTY?message}", "a|"],
    ["${NO:-${ALSO:-${A}}}", "a"],
    ["${NO:-http://$A:80/}", "http://a:80/"],
    ['${NO:-{"a": {"b": 1}}}', '{"a": {"b": 1}}'],
    ['${A:-{"a": {"b": 1}}}', "a"],
    ["${A:-$NO}", "a"],
    ["${NO:+$ALSO}", ""],
    ["${NO:-:-}", ":-"],
    ["$DOLLAR", "$A"],
    ["no variables {at} all", "no variables {at} all"],
    ["costs 5$ or $1, ^.{8,}$", "costs 5$ or $1, ^.{8,}$"],
    ["${NO:-$2a$14$}", "$2a$14$"],
    ["${A:-$}", "a"],
  ])("%s", (template, expected) => {
    expect(expand(template)).toBe(expected);
  });

  test.each([
    ["$NO", "uses the variable NO, which is not set"],
    ["${NO}", "uses the variable NO"],
    ["${NO:?say this}", "needs the variable NO: say this."],
    ["${EMPTY:?}", "needs the variable EMPTY."],
    ["${}", "without a name"],
    ["${1A}", "without a name"],
    ["${A", "without the } at its end"],
    ["${A:-x", "without the } at its end"],
    ["${A!x}", "without the } at its end"],
    ["${A.b}", "without the } at its end"],
    ["${A:-".repeat(30) + "}".repeat(30), "more than 20 deep"],
  ])("%s is an error", (template, message) => {
    expect(() => expand(template)).toThrow(TemplateError);
    expect(() => expand(template)).toThrow(message);
  });

  test("an unset variable may be nothing, which is reported by its name", () => {
    const unset: string[] = [];
    expect(interpolate("<$NO|${ALSO}|$A|${OTHER:-d}>", lookup, (name) => unset.push(name))).toBe("<||a|d>");
    expect(unset).toEqual(["NO", "ALSO"]);
    expect(() => interpolate("${NO:?say this}", lookup, () => undefined)).toThrow("needs the variable NO");
  });

  test("a value stands for itself: what it contains is not expanded again", () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(interpolate("<${V}>", () => value)).toBe(`<${value}>`);
        expect(interpolate("<$V>", () => value)).toBe(`<${value}>`);
      }),
    );
  });

  test("any text survives when its dollar signs are doubled", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(interpolate(text.replaceAll("$", "$$$$"), () => undefined)).toBe(text);
      }),
    );
  });

  test("a default is used exactly where the variable is unset, or empty with a colon", () => {
    const word = fc.stringMatching(/^[a-z ]{0,9}$/);
    fc.assert(
      fc.property(fc.option(word, { nil: undefined }), word, (value, other) => {
        const given = (): string | undefined => value;
        expect(interpolate(`\${V-${other}}`, given)).toBe(value ?? other);
        expect(interpolate(`\${V:-${other}}`, given)).toBe(value || other);
        expect(interpolate(`\${V+${other}}`, given)).toBe(value === undefined ? "" : other);
        expect(interpolate(`\${V:+${other}}`, given)).toBe(value ? other : "");
      }),
    );
  });

  test("any template ends in a text or in a TemplateError, and no error has a value", () => {
    const part = fc.oneof(fc.constantFrom("$", "{", "}", "${", "${A:-", "${NO:?", ":-", "A", "NO", "+"), fc.string());
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        try {
          expect(typeof interpolate(parts.join(""), (name) => (name === "NO" ? undefined : "planted"))).toBe("string");
        } catch (error) {
          expect(error).toBeInstanceOf(TemplateError);
        }
      }),
    );
  });

  test("a text that becomes too long is an error", () => {
    const half = "x".repeat(200_000);
    expect(() => interpolate("$V$V", () => half)).toThrow("longer than 256 KiB");
    expect(() => interpolate("${NO:-$V$V}", (name) => (name === "V" ? half : undefined))).toThrow(
      "longer than 256 KiB",
    );
  });
});
