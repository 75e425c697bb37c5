import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  explainTagKey,
  isTagValue,
  MAX_TAGS,
  tagsSchema,
  tagsUpdateSchema,
} from "../../../src/protocol/fleets/tags.ts";

const issues = (input: unknown) => tagsSchema.safeParse(input).error?.issues.length ?? 0;

const some = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, ""]));

describe("tags", () => {
  it.each([
    { role: "kiosk", region: "north" },
    { "example.com/line": "3", A: "", "a.b_c-d": "0" },
    { [`${"p".repeat(253)}/${"n".repeat(63)}`]: "v".repeat(63) },
    {},
  ])("take %j", (tags) => {
    expect(tagsSchema.parse(tags)).toEqual(tags);
  });

  it.each([
    { "": "x" },
    { type: "gateway" },
    { "-a": "x" },
    { "a-": "x" },
    { "a b": "x" },
    { "a=b": "x" },
    { ä: "x" },
    { "/a": "x" },
    { "a/": "x" },
    { "a/b/c": "x" },
    { [`${"p".repeat(254)}/n`]: "x" },
    { ["n".repeat(64)]: "x" },
    { a: "v".repeat(64) },
    { a: "-v" },
    { a: "b c" },
    { a: "b/c" },
    { a: "b\n" },
    { a: null },
    { a: 1 },
  ])("refuse %j", (tags) => {
    expect(issues(tags)).toBe(1);
  });

  it("are at most 50", () => {
    expect(issues(some(MAX_TAGS))).toBe(0);
    expect(issues(some(MAX_TAGS + 1))).toBe(1);
    expect(tagsUpdateSchema.safeParse(some(MAX_TAGS + 1)).success).toBe(false);
  });

  it("are removed by null in an update, whose other values follow the same rules", () => {
    expect(tagsUpdateSchema.parse({ a: null, b: "c" })).toEqual({ a: null, b: "c" });
    expect(tagsUpdateSchema.safeParse({ a: "b c" }).success).toBe(false);
    expect(tagsUpdateSchema.safeParse({ type: null }).success).toBe(false);
  });

  it("have exactly the keys and values of labels in Kubernetes", () => {
    // As https://github.com/kubernetes/apimachinery/blob/master/pkg/util/validation/validation.go has them.
    const name = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
    const text = fc.array(fc.constantFrom("a", "Z", "0", ".", "_", "-", " ", "é", "b".repeat(61)), { maxLength: 5 });
    fc.assert(
      fc.property(text, (parts) => {
        const value = parts.join("");
        const isName = name.test(value) && value.length <= 63;
        expect(explainTagKey(value) === undefined).toBe(isName);
        expect(isTagValue(value)).toBe(isName || value === "");
      }),
    );
  });
});
