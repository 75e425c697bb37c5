import { expect, test } from "vitest";
import { tidySchemas } from "../../../../src/control-plane/api/docs/tidy-schemas.ts";

const MAX = Number.MAX_SAFE_INTEGER;
const NULL = { type: "null" };

test("removes the bounds of safe integers, and keeps those that mean something", () => {
  const count = { type: "integer", minimum: 0, maximum: MAX, default: MAX };
  expect(tidySchemas({ a: [count], b: { type: "integer", minimum: -MAX, maximum: 5 } })).toEqual({
    a: [{ type: "integer", minimum: 0, default: MAX }],
    b: { type: "integer", maximum: 5 },
  });
});

test("moves what describes a value that may be null to the field", () => {
  const described = { type: "string", description: "A name.", examples: ["x"] };
  expect(tidySchemas({ anyOf: [described, NULL] })).toEqual({
    anyOf: [{ type: "string" }, NULL],
    description: "A name.",
    examples: ["x"],
  });
  const both = { anyOf: [described, NULL], description: "The field's own." };
  expect(tidySchemas(both)).toEqual({
    anyOf: [{ type: "string", description: "A name." }, NULL],
    description: "The field's own.",
    examples: ["x"],
  });
  const alternatives = { anyOf: [described, { type: "number" }] };
  expect(tidySchemas(alternatives)).toEqual(alternatives);
  const reference = { anyOf: [{ $ref: "#/x" }, NULL] };
  expect(tidySchemas(reference)).toEqual(reference);
});
