import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatSelector,
  matchesSelector,
  parseSelector,
  type Selectable,
  selectorSchema,
  type SelectorTerm,
} from "../../../src/protocol/fleets/selector.ts";

const terms = (text: string): readonly SelectorTerm[] => {
  const parsed = parseSelector(text);
  if (!parsed.ok) throw new Error(`${parsed.position}: ${parsed.reason}`);
  return parsed.terms;
};
const asset = (tags: Readonly<Record<string, string>>, type = "gateway"): Selectable => ({
  type,
  tags: new Map(Object.entries(tags)),
});
const matches = (text: string, given: Selectable): boolean => matchesSelector(terms(text), given);

describe("a selector", () => {
  it.each([
    ["role=kiosk,region!=south,beta", "role=kiosk,region!=south,beta"],
    ["role==kiosk", "role=kiosk"],
    [" role = kiosk , ! beta ", "role=kiosk,!beta"],
    ["role in (kiosk, van),region notin(south)", "role in (kiosk,van),region!=south"],
    ["role in (van,van)", "role=van"],
    ["role=", "role="],
    ["role in (,a)", "role in (,a)"],
    ["in in (in)", "in=in"],
    ["notin", "notin"],
    ["example.com/line=3", "example.com/line=3"],
    ['type="Pump (old), 7"', 'type="Pump (old), 7"'],
    ["type=gateway", "type=gateway"],
    [" * ", "*"],
  ])("%j is %j in its canonical form", (text, canonical) => {
    expect(formatSelector(terms(text))).toBe(canonical);
    expect(terms(canonical)).toEqual(terms(text));
  });

  it.each([
    ["", 0, "must not be empty; '*' selects every asset"],
    ["  ", 0, "must not be empty; '*' selects every asset"],
    [",", 0, "expected the key of a tag"],
    ["a,", 2, "expected the key of a tag"],
    ["a,*", 2, "the key * must be"],
    ["=a", 0, "expected the key of a tag"],
    ["!=a", 0, "expected the key of a tag"],
    ["!", 1, "expected the key of a tag"],
    ["-a=b", 0, "the key -a must be"],
    ["a b", 2, "expected '=', '!=', 'in', 'notin' or ','"],
    ["a=b c", 4, "expected ',' or the end"],
    ["a=b=c", 3, "expected ',' or the end"],
    ["a!b", 1, "expected ',' or the end"],
    ["a in", 4, "expected '('"],
    ["a in (b", 7, "expected ',' or ')'"],
    ["a in b", 5, "expected '('"],
    ["role=ki*sk", 5, "the value must be"],
    ['role="a b"', 5, "the value must be"],
    ["type=Pump 7", 10, "expected ',' or the end"],
    ["type=Pump/7", 5, "this type must be in double quotes"],
    ['type="Pump', 5, "expected ',' or the end"],
    [Array.from({ length: 21 }, (_, index) => `k${index}`).join(","), 70, "must not have more than 20 conditions"],
  ])("%j is refused at %i: %s", (text, position, reason) => {
    const parsed = parseSelector(text);
    expect(parsed).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
    expect(parsed.ok || parsed.position).toBe(position);
  });

  it("is checked by its schema, which says where it is wrong", () => {
    expect(selectorSchema.parse("a = b")).toBe("a = b");
    expect(selectorSchema.safeParse("a b").error?.issues[0]?.message).toBe(
      "at character 3: expected '=', '!=', 'in', 'notin' or ','",
    );
    expect(selectorSchema.safeParse(`a=${"b".repeat(1023)}`).success).toBe(false);
  });

  it("never throws, and points into the text", () => {
    const part = fc.constantFrom(
      "a",
      "type",
      "in",
      "notin",
      "=",
      "!",
      "(",
      ")",
      ",",
      " ",
      '"',
      "\\",
      "*",
      "\n",
      "é",
      "=x",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(part).map((parts) => parts.join("")),
          fc.string({ unit: "binary" }),
        ),
        (text) => {
          const parsed = parseSelector(text);
          if (parsed.ok) expect(terms(formatSelector(parsed.terms))).toEqual(parsed.terms);
          else expect(parsed.position).toSatisfy((at: number) => at >= 0 && at <= text.length);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

const key = fc.constantFrom("a", "b", "c", "type");
const tagValue = fc.constantFrom("", "1", "2", "3");
const typeValue = fc.oneof(tagValue, fc.constantFrom("Pump 7", 'say "hi"', "a\\b", "ä", "(,)"));
const term: fc.Arbitrary<SelectorTerm> = key.chain((name) =>
  fc.oneof(
    fc.constantFrom("exists" as const, "not_exists" as const).map((op) => ({ op, key: name })),
    fc
      .tuple(
        fc.constantFrom("in" as const, "not_in" as const),
        fc.uniqueArray(name === "type" ? typeValue : tagValue, { minLength: 1, maxLength: 3 }),
      )
      .map(([op, values]) => ({ op, key: name, values })),
  ),
);
const someAsset = fc
  .record({ type: typeValue, tags: fc.dictionary(fc.constantFrom("a", "b", "c"), tagValue) })
  .map(({ type, tags }) => asset(tags, type));

describe("matching", () => {
  const kiosk = asset({ role: "kiosk", region: "north", empty: "" });

  it.each([
    ["*", true],
    ["role=kiosk,region!=south", true],
    ["role=kiosk,region!=north", false],
    // As in Kubernetes: what is absent is not equal.
    ["floor!=2", true],
    ["floor notin (1,2)", true],
    ["floor=2", false],
    ["floor in (,2)", false],
    ["floor", false],
    ["!floor", true],
    ["empty", true],
    ["empty=", true],
    ["!empty", false],
    ["type=gateway", true],
    ["type!=gateway", false],
    ["type in (pump,gateway)", true],
    ["toString", false],
  ])("%s: %s", (text, expected) => {
    expect(matches(text, kiosk)).toBe(expected);
  });

  it("agrees with the written form, read term by term", () => {
    fc.assert(
      fc.property(fc.array(term, { minLength: 1, maxLength: 4 }), someAsset, (some, given) => {
        const labels: Record<string, string> = { ...Object.fromEntries(given.tags), type: given.type };
        const expected = some.filter((each) => {
          if (each.op === "exists") return !(each.key in labels);
          if (each.op === "not_exists") return each.key in labels;
          const isAmong = each.values.some((value) => labels[each.key] === value);
          return each.op === "in" ? !isAmong : isAmong;
        });
        expect(matches(formatSelector(some), given)).toBe(expected.length === 0);
      }),
    );
  });

  it("is what it was after writing and reading", () => {
    fc.assert(
      fc.property(fc.array(term, { maxLength: 20 }), (some) => {
        expect(terms(formatSelector(some))).toEqual(some);
      }),
    );
  });
});
