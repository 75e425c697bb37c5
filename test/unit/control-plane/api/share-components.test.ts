import { expect, test } from "vitest";
import { shareComponents } from "../../../../src/control-plane/api/docs/share-components.ts";

const DESCRIPTION = "A field with a description that is long enough for a component of its own, since all have it.";
const FIELD = { type: "string", maxLength: 8, description: DESCRIPTION };
const OBJECT = { type: "array", items: { type: "string" }, description: `${DESCRIPTION} A list.` };

const schemasOf = (schemas: object): Readonly<Record<string, unknown>> =>
  (shareComponents({ components: { schemas }, paths: {} }) as { components: { schemas: Record<string, unknown> } })
    .components.schemas;

test("fields refer to one component, with what sets them apart beside the reference", () => {
  const schemas = schemasOf({
    Creation: { type: "object", properties: { some_field: { default: "a", ...FIELD }, list: OBJECT } },
    Update: {
      type: "object",
      properties: { some_field: { ...FIELD, type: ["string", "null"] }, list: { anyOf: [OBJECT, { type: "null" }] } },
    },
    // The keys in another order.
    Resource: { type: "object", properties: { some_field: Object.fromEntries(Object.entries(FIELD).toReversed()) } },
  });
  expect(schemas).toMatchObject({
    Creation: {
      properties: {
        some_field: { default: "a", $ref: "#/components/schemas/SomeField" },
        list: { $ref: "#/components/schemas/List" },
      },
    },
    Update: {
      properties: {
        some_field: { anyOf: [{ $ref: "#/components/schemas/SomeField" }, { type: "null" }] },
        list: { anyOf: [{ $ref: "#/components/schemas/List" }, { type: "null" }] },
      },
    },
    Resource: { properties: { some_field: { $ref: "#/components/schemas/SomeField" } } },
    SomeField: FIELD,
    List: OBJECT,
  });
});

test("a field that differs, occurs once or is short stays in its place", () => {
  const schemas = {
    One: { type: "object", properties: { once: FIELD, short: { type: "string" } } },
    Other: { type: "object", properties: { differs: { ...FIELD, maxLength: 9 }, short: { type: "string" } } },
  };
  expect(schemasOf(schemas)).toEqual(schemas);
});

const refusal = (...codes: readonly string[]): object => ({
  description: codes.join(),
  content: {
    "application/json": {
      schema: { $ref: "#/components/schemas/Error" },
      examples: Object.fromEntries(codes.map((code) => [code, { value: { code } }])),
    },
  },
});

const operation = (...codes: readonly string[]): object => ({ responses: { "409": refusal(...codes) } });

test("examples that several responses have are shared, and those of a shared response are there once", () => {
  const { paths, components } = shareComponents({
    components: { schemas: {} },
    paths: {
      "/a": { get: operation("Taken", "Busy") },
      "/b": { get: operation("Taken", "Busy"), put: operation("Busy", "Other") },
    },
  }) as { paths: object; components: Readonly<Record<string, object>> };
  const busy = { $ref: "#/components/examples/Busy" };
  expect(paths).toMatchObject({
    "/a": { get: { responses: { "409": { $ref: "#/components/responses/TakenOrBusy" } } } },
    "/b": {
      get: { responses: { "409": { $ref: "#/components/responses/TakenOrBusy" } } },
      put: {
        responses: {
          "409": { content: { "application/json": { examples: { Busy: busy, Other: { value: { code: "Other" } } } } } },
        },
      },
    },
  });
  expect(components["examples"]).toEqual({ Busy: { value: { code: "Busy" } } });
  expect(components["responses"]).toMatchObject({
    TakenOrBusy: {
      content: { "application/json": { examples: { Taken: { value: { code: "Taken" } }, Busy: busy } } },
    },
  });
});

const labels = (description: string) => ({
  One: { type: "object", properties: { label: { ...FIELD, description } } },
  Other: { type: "object", properties: { label: { ...FIELD, description } } },
});

test("values that differ do not share a name: that of one of them would be a number, and change with additions", () => {
  const others = Object.entries(labels(`${DESCRIPTION} Of others.`)).map(([name, schema]) => [`More${name}`, schema]);
  expect(() => schemasOf({ ...labels(DESCRIPTION), ...Object.fromEntries(others) })).toThrow(
    "several schemas called Label",
  );
});
