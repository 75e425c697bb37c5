type Schema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, Schema>>;

const NAMED = new Set(["properties"]);
const LISTED = new Set(["anyOf", "oneOf", "prefixItems"]);
const NESTED = new Set(["items", "additionalProperties", "propertyNames"]);

/**
 * Closes the schemas of an OpenAPI document that are open for later versions: this version sends no field and no value that they
 * do not list.
 */
export function closeSchemas<T>(document: T): T {
  const { components, paths, ...rest } = document as { components: { schemas: Schemas }; paths: unknown };
  const { schemas } = components;
  return {
    ...rest,
    paths: closeBodies(paths),
    components: {
      ...components,
      schemas: mapValues(schemas, (schema) => close(schema)),
      // As parts of others, in `allOf`: the whole is closed, not its parts.
      parts: mapValues(schemas, (schema) => close(schema, true)),
    },
  } as T;
}

/** Closes the schemas in the paths, which are the values of all keys `schema`. */
function closeBodies(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeBodies);
  if (typeof value !== "object" || value === null) return value;
  return mapValues(value as Schema, (child, key) => (key === "schema" ? close(child as Schema) : closeBodies(child)));
}

function close(schema: Schema, isPart = false): Schema {
  if (typeof schema !== "object" || schema === null) return schema;
  const { "x-extensible-enum": values, ...rest } = schema;
  const closed = mapValues(rest, (child, key) => closePart(key, child));
  // The fields that all alternatives have are in another part.
  if (isPart && Array.isArray(schema["oneOf"]))
    Object.assign(closed, { oneOf: (schema["oneOf"] as readonly Schema[]).map((each) => close(each, true)) });
  const isOpen =
    (schema["properties"] ?? schema["allOf"]) !== undefined && schema["additionalProperties"] === undefined;
  return {
    ...closed,
    ...(Array.isArray(values) && { enum: [...values, null] }),
    ...(isOpen && !isPart && { unevaluatedProperties: false }),
  };
}

function closePart(key: string, child: unknown): unknown {
  if (key === "allOf") return (child as readonly Schema[]).map(asPart);
  if (NAMED.has(key)) return mapValues(child as Schemas, (schema) => close(schema));
  if (LISTED.has(key)) return (child as readonly Schema[]).map((schema) => close(schema));
  return NESTED.has(key) ? close(child as Schema) : child;
}

function asPart(schema: Schema): Schema {
  const { $ref } = schema;
  return typeof $ref === "string" ? { $ref: $ref.replace("/schemas/", "/parts/") } : close(schema, true);
}

function mapValues<T, R>(values: Readonly<Record<string, T>>, map: (value: T, key: string) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value, key)]));
}
