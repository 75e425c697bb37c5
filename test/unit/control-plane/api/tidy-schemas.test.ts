import { expect, test } from "vitest";
import { tidySchemas } from "../../../../src/control-plane/api/docs/tidy-schemas.ts";

const MAX = Number.MAX_SAFE_INTEGER;
const NULL = { type: "null" };

test("removes the bounds of safe integers, and keeps those that mean something", () => {
  const count = { type: "integer", minimum: 0, maximum: MAX, default: MAX };
  expect(tidySchemas({ a: [count], b: { type: "integer", minimum: -MAX, maximum: 5 } })).toEqual({
    a: [{ type: "integer", minimum: 0, default: MAX, format: "int64" }],
    b: { type: "integer", maximum: 5 },
  });
});

const bound = (maximum: number) => ({ type: "integer", maximum });

test("marks integers that 32 bits may not hold", () => {
  expect(tidySchemas([bound(2 ** 31 - 1), bound(2 ** 31), { type: ["integer", "null"] }, { type: "number" }])).toEqual([
    bound(2 ** 31 - 1),
    { ...bound(2 ** 31), format: "int64" },
    { type: ["integer", "null"], format: "int64" },
    { type: "number" },
  ]);
});

test("says of a value that may be null what it is at the field", () => {
  const described = { type: "string", maxLength: 5, description: "A name.", examples: ["x"] };
  const nullable = { type: ["string", "null"], maxLength: 5, description: "A name.", examples: ["x"] };
  expect(tidySchemas({ anyOf: [described, NULL] })).toEqual(nullable);
  const own = "The field's own.";
  expect(tidySchemas({ anyOf: [described, NULL], description: own })).toEqual({ ...nullable, description: own });
  const listed = { anyOf: [{ type: "string", enum: ["a"], description: "A letter." }, NULL] };
  expect(tidySchemas(listed)).toEqual({ anyOf: [{ type: "string", enum: ["a"] }, NULL], description: "A letter." });
  const alternatives = { anyOf: [described, { type: "number" }] };
  expect(tidySchemas(alternatives)).toEqual(alternatives);
  const reference = { anyOf: [{ $ref: "#/x" }, NULL] };
  expect(tidySchemas(reference)).toEqual(reference);
});

test("leaves out what repeats: expressions of formats, and the keys of a map as required fields", () => {
  expect(tidySchemas({ type: "string", format: "ipv6", pattern: "long" })).toEqual({ type: "string", format: "ipv6" });
  expect(tidySchemas({ type: "string", format: "other", pattern: "x" })).toMatchObject({ pattern: "x" });
  const map = { type: "object", propertyNames: { enum: ["a"] }, additionalProperties: {}, required: ["a"] };
  expect(tidySchemas(map)).not.toHaveProperty("required");
});

test("a parameter that may be left out does not say so, as each without a word may", () => {
  expect(tidySchemas([{ name: "a", required: false }, { name: "b", required: true }, { required: ["c"] }])).toEqual([
    { name: "a" },
    { name: "b", required: true },
    { required: ["c"] },
  ]);
});
