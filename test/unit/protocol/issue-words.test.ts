import { expect, test } from "vitest";
import { z } from "zod";
import { IN_WORDS } from "../../../src/protocol/values/issue-words.ts";

const reasonOf = (schema: z.ZodType, input: unknown): string | undefined =>
  schema.safeParse(input, IN_WORDS).error?.issues[0]?.message;

test.each([
  [z.string(), undefined, "is required"],
  [z.string(), 3, "must be a string"],
  [z.number(), "3", "must be a number"],
  [z.int(), 1.5, "must be an integer"],
  [z.int(), 2 ** 60, "must be at most 9007199254740991"],
  [z.boolean(), "true", "must be true or false"],
  [z.array(z.string()), {}, "must be a list"],
  [z.object({}), [], "must be an object"],
  [z.record(z.string(), z.string()), 1, "must be an object"],
  [z.number().max(200), 201, "must be at most 200"],
  [z.number().lt(200), 200, "must be less than 200"],
  [z.number().min(10), 1, "must be at least 10"],
  [z.number().positive(), 0, "must be more than 0"],
  [z.string().max(64), "x".repeat(65), "must have at most 64 characters"],
  [z.string().max(1), "xx", "must have at most 1 character"],
  [z.string().min(1), "", "must not be empty"],
  [z.string().min(12), "x", "must have at least 12 characters"],
  [z.array(z.string()).max(2), ["a", "b", "c"], "must have at most 2 entries"],
  [z.array(z.string()).min(1), [], "must not be empty"],
  [z.enum(["a", "b"]), "c", 'must be one of "a", "b"'],
  [z.enum(["a", "b"]), undefined, 'must be one of "a", "b"'],
  [z.literal("a"), "c", 'must be "a"'],
  [z.number().multipleOf(5), 3, "must be a multiple of 5"],
  [z.ipv4(), "x", "is not a valid IPv4 address"],
  [z.string().regex(/^a$/), "x", "does not have the allowed form"],
  [z.union([z.string(), z.number()]), true, "has none of the allowed forms"],
  [z.union([z.string(), z.number()]), undefined, "is required"],
  [z.discriminatedUnion("t", [z.object({ t: z.literal("a") })]), { t: "b" }, "has none of the allowed forms"],
])("%# is explained in words", (schema, input, reason) => {
  expect(reasonOf(schema, input)).toBe(reason);
});

test("what a schema says itself is kept", () => {
  expect(reasonOf(z.string().regex(/^a$/, "must be a"), "b")).toBe("must be a");
  expect(
    reasonOf(
      z.string().refine(() => false, "is wrong"),
      "b",
    ),
  ).toBe("is wrong");
  expect(reasonOf(z.strictObject({}), { extra: 1 })).toContain("extra");
});

test("no value is repeated, since it may be a secret", () => {
  const secret = "correct horse";
  for (const schema of [z.number(), z.enum(["a"]), z.ipv4(), z.string().max(1), z.string().regex(/^a$/), z.object({})])
    expect(reasonOf(schema, secret)).not.toContain(secret);
});
