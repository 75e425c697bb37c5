import { expect, test } from "vitest";
import { pruneComponents } from "../../../../src/control-plane/api/docs/prune-components.ts";

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

test("keeps what is referred to, directly or through others, and gives request forms the plain name if it is free or means the same", () => {
  const document = {
    paths: {
      "/a": {
        body: ref("OnlyInput"),
        answer: ref("Both"),
        other: ref("BothInput"),
        same: [ref("SameInput"), ref("Same")],
      },
    },
    components: {
      securitySchemes: { key: {} },
      schemas: {
        Only: { type: "null" },
        OnlyInput: { properties: { nested: ref("NestedInput") } },
        Nested: { type: "null" },
        NestedInput: { properties: { self: ref("NestedInput") } },
        Both: { type: "string" },
        BothInput: { type: "number" },
        Same: { type: "integer" },
        SameInput: { type: "integer" },
        Unused: { type: "string", of: ref("UnusedInput") },
        UnusedInput: { type: "string" },
      },
    },
  };
  expect(pruneComponents(document)).toEqual({
    paths: {
      "/a": { body: ref("Only"), answer: ref("Both"), other: ref("BothInput"), same: [ref("Same"), ref("Same")] },
    },
    components: {
      securitySchemes: { key: {} },
      schemas: {
        Only: { properties: { nested: ref("Nested") } },
        Nested: { properties: { self: ref("Nested") } },
        Both: { type: "string" },
        BothInput: { type: "number" },
        Same: { type: "integer" },
      },
    },
  });
});

test("examples that a request form has too are there once", () => {
  const document = {
    paths: { "/a": { body: ref("ThingInput"), answer: [ref("Thing"), ref("Other")] } },
    components: {
      schemas: {
        Thing: { type: "object", examples: [1] },
        ThingInput: { type: "object", additionalProperties: false, examples: [1] },
        Other: { type: "object", examples: [1] },
        OtherInput: { type: "object", additionalProperties: false, examples: [1] },
      },
    },
  };
  expect(pruneComponents(document)).toMatchObject({
    components: {
      schemas: {
        Thing: { type: "object" },
        ThingInput: { additionalProperties: false, examples: [1] },
        // Its request form is nowhere used.
        Other: { type: "object", examples: [1] },
      },
    },
  });
  const { components } = pruneComponents(document) as { components: { schemas: { Thing: object } } };
  expect(components.schemas.Thing).toEqual({ type: "object" });
});
