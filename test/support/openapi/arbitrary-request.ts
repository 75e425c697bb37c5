import fc from "fast-check";
import type { OpenApiDocument } from "./conformance.ts";

/** A generated request: mostly valid by the document, with invalid parts mixed in. */
export interface ArbitraryRequest {
  readonly method: string;
  /** Path and query, encoded. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}
interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly schema: Schema;
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/**
 * Generates requests for every operation of the document.
 *
 * @param identifiers values for `asset_id` that exist
 */
export function arbitraryRequest(
  document: OpenApiDocument,
  identifiers: readonly string[],
): fc.Arbitrary<ArbitraryRequest> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      operationRequest(document, method, path, operation as Operation, identifiers),
    ),
  );
  return fc.oneof(...operations);
}

function operationRequest(
  document: OpenApiDocument,
  method: string,
  path: string,
  { parameters = [], requestBody }: Operation,
  identifiers: readonly string[],
): fc.Arbitrary<ArbitraryRequest> {
  const pathParameters = parameters.filter((parameter) => parameter.in === "path");
  const query = parameters.filter((parameter) => parameter.in === "query");
  const schema = requestBody?.content["application/json"]?.schema;
  return fc
    .record({
      path: fc.record(Object.fromEntries(pathParameters.map((each) => [each.name, pathValue(each, identifiers)]))),
      query: fc.record(Object.fromEntries(query.map((each) => [each.name, text(document, each.schema)])), {
        requiredKeys: [],
      }),
      // Rare: the request is refused for it.
      extra: fc.oneof(
        { weight: 9, arbitrary: fc.constant(undefined) },
        fc.tuple(fc.string({ minLength: 1 }), fc.string()),
      ),
      body: schema ? bodyText(document, schema) : fc.constant(undefined),
      type: fc.oneof({ weight: 9, arbitrary: fc.constant("application/json") }, fc.constantFrom("text/plain", "a/b")),
    })
    .map(({ path: values, query: pairs, extra, body, type }) => {
      const filled = Object.entries(values).reduce(
        (url, [name, value]) => url.replace(`{${name}}`, encodeURIComponent(value)),
        path,
      );
      const search = new URLSearchParams(pairs as Record<string, string>);
      if (extra) search.append(...extra);
      return {
        method: method.toUpperCase(),
        url: search.size > 0 ? `${filled}?${search.toString()}` : filled,
        headers: body === undefined ? {} : { "Content-Type": type },
        body,
      };
    });
}

function pathValue({ name, schema }: Parameter, identifiers: readonly string[]): fc.Arbitrary<string> {
  const known = name === "asset_id" ? identifiers : ((schema.enum ?? schema.examples ?? []) as readonly string[]);
  const other = fc.string({ minLength: 1, unit: "grapheme" }).filter((value) => !/^\.{1,2}$/.test(value));
  return known.length === 0 ? other : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, other);
}

function text(document: OpenApiDocument, schema: Schema): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: value(document, schema).map(asText) },
    fc.string({ unit: "grapheme" }),
    fc.integer().map(String),
  );
}

function asText(each: unknown): string {
  return typeof each === "string" ? each : JSON.stringify(each);
}

function bodyText(document: OpenApiDocument, schema: Schema): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: value(document, schema).map((each) => JSON.stringify(each)) },
    { weight: 2, arbitrary: fc.json() },
    fc.string(),
  );
}

/** A value for the schema; occasionally an invalid value at any depth. */
function value(document: OpenApiDocument, schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 24, arbitrary: fitting(document, schema) }, fc.jsonValue());
}

function fitting(document: OpenApiDocument, schema: Schema): fc.Arbitrary<unknown> {
  const name = schema.$ref?.split("/").at(-1);
  if (name !== undefined) return fitting(document, document.components.schemas[name] as Schema);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.properties) {
    const known = Object.entries(schema.properties).map(([key, child]) => [key, value(document, child)] as const);
    const fields = fc.record(Object.fromEntries(known), { requiredKeys: [...(schema.required ?? [])] });
    const extra = fc.option(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 1 }), { nil: {}, freq: 8 });
    const made = fc.tuple(fields, extra).map(([object, more]) => Object.assign({}, object, more));
    return schema.examples ? fc.oneof({ weight: 3, arbitrary: made }, fc.constantFrom(...schema.examples)) : made;
  }
  if (schema.items) return fc.array(value(document, schema.items), { maxLength: 4 });
  if (schema.examples?.[0] !== undefined) {
    return fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...schema.examples) }, ofType(schema.type));
  }
  return ofType(schema.type);
}

function ofType(type: string | undefined): fc.Arbitrary<unknown> {
  if (type === "string") return fc.string({ unit: "grapheme" });
  if (type === "integer" || type === "number") return fc.oneof(fc.integer(), fc.maxSafeInteger());
  if (type === "boolean") return fc.boolean();
  return fc.jsonValue();
}
