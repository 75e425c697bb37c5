/** A schema of the OpenAPI document, as far as it decides on a type. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  /** The values of this version, where later ones may have others. The console is of the same version. */
  readonly "x-extensible-enum"?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

/** Returns the TypeScript type of the values that fit the schema. References become the names of types. */
export function typeOf(schema: JsonSchema): string {
  const { $ref, type, anyOf, oneOf, allOf } = schema;
  if ($ref !== undefined) return $ref.split("/").at(-1) as string;
  if ("const" in schema) return JSON.stringify(schema.const);
  const values = valuesOf(schema);
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (allOf) return allOf.map((part) => `(${typeOf(part)})`).join(" & ");
  const alternatives = anyOf ?? oneOf;
  if (alternatives) return [...new Set(alternatives.map(typeOf))].join(" | ");
  if (Array.isArray(type)) return type.map((name: string) => typeOf({ ...schema, type: name })).join(" | ");
  if (type === "array") return `readonly (${typeOf(schema.items ?? {})})[]`;
  if (type === "object" || (type === undefined && schema.properties)) return objectType(schema);
  return PRIMITIVES[String(type)] ?? "unknown";
}

function valuesOf(schema: JsonSchema): readonly unknown[] | undefined {
  return schema.enum ?? schema["x-extensible-enum"];
}

function objectType({ properties = {}, required = [], additionalProperties, propertyNames }: JsonSchema): string {
  const fields = Object.entries(properties).map(
    ([name, schema]) => `${JSON.stringify(name)}${required.includes(name) ? "" : "?"}: ${typeOf(schema)}`,
  );
  const parts = fields.length > 0 ? [`{ ${fields.join("; ")} }`] : [];
  if (typeof additionalProperties === "object") {
    const isNamed = propertyNames?.$ref !== undefined || (propertyNames && valuesOf(propertyNames)) !== undefined;
    const key = propertyNames && isNamed ? typeOf(propertyNames) : "string";
    parts.push(`{ readonly [key in ${key}]: ${typeOf(additionalProperties)} }`);
  }
  return parts.length > 0 ? parts.join(" & ") : "{ readonly [key: string]: unknown }";
}
