import type { OpenApiDocument } from "./conformance.ts";

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/**
 * Returns the fields of requests by operation, such as `POST /v1/fleets`: names of query parameters with `?` before them, and
 * paths of the body's fields, such as `strategy.waves.limit`. `*` stands for any name.
 */
export function requestFields(document: OpenApiDocument): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, readonly string[]>();
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, value] of Object.entries(operations)) {
      const { parameters = [], requestBody } = value as Operation;
      const found = new Set(parameters.filter((each) => each.in === "query").map(({ name }) => `?${name}`));
      const body = requestBody?.content["application/json"]?.schema;
      if (body) collect(document, body, "", found, []);
      fields.set(`${method.toUpperCase()} ${path}`, [...found]);
    }
  }
  return fields;
}

function collect(
  document: OpenApiDocument,
  schema: Schema,
  path: string,
  found: Set<string>,
  outer: readonly Schema[],
): void {
  const name = schema.$ref?.split("/").at(-1);
  const own = name === undefined ? schema : (document.components.schemas[name] as Schema);
  if (outer.includes(own)) return;
  const inside = [...outer, own];
  const add = (field: string, inner: Schema): void => {
    const full = path === "" ? field : `${path}.${field}`;
    found.add(full);
    collect(document, inner, full, found, inside);
  };
  for (const part of [...(own.oneOf ?? []), ...(own.anyOf ?? []), ...(own.allOf ?? [])])
    collect(document, part, path, found, inside);
  if (own.items) collect(document, own.items, path, found, inside);
  for (const [field, inner] of Object.entries(own.properties ?? {})) add(field, inner);
  if (typeof own.additionalProperties === "object") add("*", own.additionalProperties);
}
