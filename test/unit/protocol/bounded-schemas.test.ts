import { expect, test } from "vitest";
import { z } from "zod";
import {
  assetListQuerySchema,
  assetRegistrationSchema,
  assetUpdateSchema,
  legacySimUpdateSchema,
} from "../../../src/protocol/assets/asset-request.ts";
import { deployRequestSchema, updateRequestSchema } from "../../../src/protocol/apps/deploy-request.ts";
import { QUERIES } from "../../../src/protocol/link/device-query.ts";
import { enrolmentRequestSchema } from "../../../src/protocol/assets/enrolment.ts";
import { agentFrameSchema } from "../../../src/protocol/link/frames.ts";
import { rolloutStrategySchema, rolloutStrategyUpdateSchema } from "../../../src/protocol/fleets/rollout-strategy.ts";
import { selectorSchema } from "../../../src/protocol/fleets/selector.ts";
import { tagsSchema, tagsUpdateSchema } from "../../../src/protocol/fleets/tags.ts";
import { variablesSchema, variablesUpdateSchema } from "../../../src/protocol/values/variables.ts";

/** Places where anything may stand, and what bounds it there. */
const ANYTHING: readonly RegExp[] = [
  // Bounded in bytes by `core/event-log.ts`.
  /^event\.event\.details$/,
  // Checked by the schema of the query's kind, which is among those below.
  /^answer\.body$/,
  // Part of a report, which is bounded by the frame, and kept only if it is not larger than one.
  /\.apps\[\]\.spec$/,
  /^app\.app\.spec$/,
];

type JsonSchema = { readonly [key: string]: unknown };

/** A pattern that only texts of some length can fit: anchored, without a quantifier that has no end. */
function isBoundedPattern(pattern: unknown): boolean {
  if (typeof pattern !== "string" || !/^\^.*\$$/.test(pattern)) return false;
  const withoutClasses = pattern.replaceAll(/\\./g, "").replaceAll(/\[[^\]]*\]/g, "");
  return !/[*+]|\{\d+,\}/.test(withoutClasses);
}

function isAnything(path: string): boolean {
  return ANYTHING.some((pattern) => pattern.test(path));
}

/** Paths of the strings, lists and records in a schema that may be as large as the sender likes. */
function unbounded(schema: JsonSchema, path: string): string[] {
  if (isAnything(path)) return [];
  const parts = (["anyOf", "oneOf", "allOf"] as const).flatMap(
    (key) => (schema[key] as JsonSchema[] | undefined) ?? [],
  );
  if (parts.length > 0) return parts.flatMap((part) => unbounded(part, path));
  const { type } = schema;
  if (Array.isArray(type)) return type.flatMap((each: unknown) => unbounded({ ...schema, type: each }, path));
  if ("const" in schema || "enum" in schema || "not" in schema) return [];
  switch (type) {
    case "string":
      return "maxLength" in schema || isBoundedPattern(schema["pattern"]) ? [] : [path];
    case "array":
      return [...("maxItems" in schema ? [] : [path]), ...unbounded(schema["items"] as JsonSchema, `${path}[]`)];
    case "object": {
      const fields = Object.entries((schema["properties"] as Record<string, JsonSchema> | undefined) ?? {});
      const more = schema["additionalProperties"];
      const isRecord = typeof more === "object" && Object.keys(more as object).length > 0;
      const names = schema["propertyNames"] as JsonSchema | undefined;
      return [
        ...fields.flatMap(([name, field]) => unbounded(field, path === "" ? name : `${path}.${name}`)),
        ...(isRecord && !isFixed(names) && !("maxProperties" in schema) ? [`${path}{}`] : []),
        ...(isRecord && names ? unbounded(names, `${path}{name}`) : []),
        ...(isRecord ? unbounded(more as JsonSchema, `${path}{}`) : []),
      ];
    }
    case "number":
    case "integer":
    case "boolean":
    case "null":
      return [];
    default:
      return [path];
  }
}

function isFixed(names: JsonSchema | undefined): boolean {
  return names !== undefined && "enum" in names;
}

function unboundedIn(schema: z.ZodType, name: string): string[] {
  const json = z.toJSONSchema(schema, { io: "input", unrepresentable: "any", reused: "inline" }) as JsonSchema;
  const resolved = inline(json, (json["$defs"] as Record<string, JsonSchema> | undefined) ?? {});
  return unbounded(resolved, name);
}

/** The schema without references. */
function inline(schema: JsonSchema, definitions: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const text = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(text);
    if (typeof value !== "object" || value === null) return value;
    const reference = (value as { $ref?: string }).$ref;
    if (reference !== undefined) return text(definitions[reference.split("/").at(-1) ?? ""]);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, text(each)]));
  };
  return text(schema) as JsonSchema;
}

test.each(agentFrameSchema.options.map((schema) => [schema.shape.type.value, schema] as const))(
  "nothing in a device's frame %s is as large as the device likes",
  (name, schema) => {
    expect(unboundedIn(schema as z.ZodType, name)).toEqual([]);
  },
);

test.each(Object.entries(QUERIES))(
  "nothing in a device's answer to %s is as large as the device likes",
  (name, query) => {
    expect(unboundedIn(query.answer, name)).toEqual([]);
  },
);

test.each([
  ["deployment", deployRequestSchema],
  ["update", updateRequestSchema],
  ["registration", assetRegistrationSchema],
  ["asset update", assetUpdateSchema],
  ["SIM update", legacySimUpdateSchema],
  ["enrolment", enrolmentRequestSchema],
  ["list", assetListQuerySchema],
  ["tags", tagsSchema],
  ["tags update", tagsUpdateSchema],
  ["variables", variablesSchema],
  ["variables update", variablesUpdateSchema],
  ["selector", selectorSchema],
  ["strategy", rolloutStrategySchema],
  ["strategy update", rolloutStrategyUpdateSchema],
])("nothing in a client's request (%s) is as large as the client likes", (name, schema) => {
  expect(unboundedIn(schema, name)).toEqual([]);
});

test("the walk finds what has no bound", () => {
  const open = z.object({
    text: z.string(),
    list: z.array(z.string().max(1)),
    map: z.record(z.string(), z.int()),
    any: z.unknown(),
    pattern: z.string().regex(/^a+$/),
  });
  expect(unboundedIn(open, "x").toSorted()).toEqual([
    "x.any",
    "x.list",
    "x.map{name}",
    "x.map{}",
    "x.pattern",
    "x.text",
  ]);
});
