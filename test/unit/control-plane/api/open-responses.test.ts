import { expect, test } from "vitest";
import { openResponses } from "../../../../src/control-plane/api/docs/open-responses.ts";
import { MAX_UNIX_SECONDS } from "../../../../src/protocol/values/scalars.ts";

/** The schema of a component in the form of responses. */
function opened(schema: object): unknown {
  const { components } = openResponses({ components: { schemas: { Thing: schema } } }) as {
    readonly components: { readonly schemas: { readonly Thing: unknown } };
  };
  return components.schemas.Thing;
}

test("values are listed for people once: where the description says what each means, not again", () => {
  const values = ["keep", "drop"];
  expect(opened({ enum: values, description: "What happens." })).toEqual({
    description: "What happens. `keep`, `drop`, or others.",
    "x-extensible-enum": values,
  });
  expect(opened({ enum: values, description: "`keep`: it stays. `drop`: it goes." })).toEqual({
    description: "`keep`: it stays. `drop`: it goes. Or another.",
    "x-extensible-enum": values,
  });
  expect(opened({ enum: values, description: "`keep`: it stays." })).toMatchObject({
    description: "`keep`: it stays. `keep`, `drop`, or others.",
  });
  const many = Array.from({ length: 17 }, (_, index) => `v${index}`);
  expect(opened({ enum: many, description: "Its code." })).toEqual({
    description: "Its code. One of `x-extensible-enum`, or another.",
    "x-extensible-enum": many,
  });
});

test("times have no bounds, other numbers do, and the form of requests stays as it is", () => {
  const time = { type: "integer", minimum: 0, maximum: MAX_UNIX_SECONDS };
  const count = { type: "integer", minimum: 0, maximum: 5 };
  expect(opened({ properties: { at: time, count } })).toEqual({ properties: { at: { type: "integer" }, count } });
  const document = { components: { schemas: { ThingInput: { properties: { at: time } } } } };
  expect(openResponses(document)).toMatchObject(document);
});
