import { describe, expect, it } from "vitest";
import {
  MAX_VARIABLES,
  shownVariablesSchema,
  variablesSchema,
  variablesUpdateSchema,
} from "../../../src/protocol/values/variables.ts";

const accepts = (input: unknown): boolean => variablesSchema.safeParse(input).success;

const some = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`A${index}`, { value: "" }]));

describe("variables of an asset", () => {
  it("are no secrets unless they say so", () => {
    expect(variablesSchema.parse({ A: { value: "" }, _b9: { value: "x", secret: true } })).toEqual({
      A: { value: "", secret: false },
      _b9: { value: "x", secret: true },
    });
  });

  it.each(["", "9A", "A-B", "A.B", "A B", "Ä", "A\n", "A".repeat(65), "${A}"])("are not called %j", (name) => {
    expect(accepts({ [name]: { value: "x" } })).toBe(false);
  });

  it("have at most 16 KiB as UTF-8, without NUL", () => {
    expect(accepts({ A: { value: "x".repeat(16_384) } })).toBe(true);
    expect(accepts({ A: { value: "x".repeat(16_385) } })).toBe(false);
    expect(accepts({ A: { value: "é".repeat(8_192) } })).toBe(true);
    expect(accepts({ A: { value: "é".repeat(8_192) + "x" } })).toBe(false);
    expect(accepts({ A: { value: "x\0" } })).toBe(false);
  });

  it("have a value, and nothing unknown", () => {
    expect(accepts({ A: {} })).toBe(false);
    expect(accepts({ A: { value: null, secret: true } })).toBe(false);
    expect(accepts({ A: "x" })).toBe(false);
    expect(accepts({ A: { value: "x", hidden: true } })).toBe(false);
  });

  it("are at most 100", () => {
    expect(accepts(some(MAX_VARIABLES))).toBe(true);
    expect(accepts(some(MAX_VARIABLES + 1))).toBe(false);
    expect(variablesUpdateSchema.safeParse(some(MAX_VARIABLES + 1)).success).toBe(false);
  });

  it("are removed by null in an update", () => {
    const update = { A: null, B: { value: "x", secret: true } };
    expect(variablesUpdateSchema.parse(update)).toEqual(update);
    expect(accepts(update)).toBe(false);
  });

  it("are shown without the values of secrets", () => {
    const shown = { A: { value: "x", secret: false }, B: { value: null, secret: true } };
    expect(shownVariablesSchema.parse(shown)).toEqual(shown);
  });
});
