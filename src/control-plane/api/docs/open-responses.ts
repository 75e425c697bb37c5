import { MAX_UNIX_SECONDS } from "../../../protocol/values/scalars.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Document {
  readonly components?: { readonly schemas?: Fields };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
interface Operation {
  readonly responses?: Readonly<Record<string, Response>>;
}
interface Response {
  readonly content?: Readonly<Record<string, { readonly schema?: unknown }>>;
}

/** Suffix that the generator adds to the name of a schema in its request form. */
const REQUEST_FORM = "Input";

/** Values that the specification lists completely: clients may rely on there being no other. */
const COMPLETE: ReadonlySet<string> = new Set([
  ["active", "inactive"].join(),
  ["Running", "Success", "Fail"].join(),
  ["supersim", "prosim"].join(),
]);

/** Keys of a schema that hold one schema, several of them, or several by name. */
const NESTED = new Set(["items", "propertyNames", "additionalProperties", "not"]);
const LISTED = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const NAMED = new Set(["properties", "patternProperties"]);

/**
 * Opens the schemas of responses in an OpenAPI document: a later version may add fields and values without breaking clients
 * that validate by this document or are generated from it. Those of requests stay closed, as the service refuses what it does
 * not know.
 */
export function openResponses(document: object): object {
  const { components, paths, ...rest } = document as Document;
  const schemas = Object.entries(components?.schemas ?? {}).map(([name, schema]) => [
    name,
    name.endsWith(REQUEST_FORM) ? schema : open(schema),
  ]);
  const opened = Object.entries(paths ?? {}).map(([path, operations]) => [
    path,
    Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, openOperation(operation)])),
  ]);
  return {
    ...rest,
    paths: Object.fromEntries(opened),
    components: { ...components, schemas: Object.fromEntries(schemas) },
  };
}

function openOperation(operation: Operation): Operation {
  const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => {
    const content = Object.entries(response.content ?? {}).map(([type, body]) => [
      type,
      { ...body, schema: open(body.schema) },
    ]);
    return [status, { ...response, ...(response.content && { content: Object.fromEntries(content) }) }];
  });
  return { ...operation, responses: Object.fromEntries(responses) };
}

function open(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const schema = openValues(withoutLastTime(value as Fields));
  const entries = Object.entries(schema)
    .filter(([key, child]) => key !== "additionalProperties" || child !== false)
    .map(([key, child]) => [key, openPart(key, child)]);
  return Object.fromEntries(entries);
}

function openPart(key: string, child: unknown): unknown {
  if (NESTED.has(key)) return open(child);
  if (LISTED.has(key)) return (child as readonly unknown[]).map(open);
  if (!NAMED.has(key)) return child;
  return Object.fromEntries(Object.entries(child as Fields).map(([name, schema]) => [name, open(schema)]));
}

/** Without the bounds of a time: every time that a response has is within them. */
function withoutLastTime(schema: Fields): Fields {
  if (schema["maximum"] !== MAX_UNIX_SECONDS) return schema;
  const { minimum: _minimum, maximum: _maximum, ...rest } = schema;
  return rest;
}

/** As many values as a person reads through; programs read `x-extensible-enum`. */
const MAX_LISTED = 6;

/** Lists the values of an enumeration without forbidding others, for programs and for people. */
function openValues(schema: Fields): Fields {
  const { enum: values, description, ...rest } = schema;
  if (!Array.isArray(values) || COMPLETE.has(values.join())) return schema;
  const named = values.map((each) => `\`${String(each)}\``);
  const listed = listOf(named, typeof description === "string" ? description : "");
  const described = typeof description === "string" ? `${description} ${listed}` : listed;
  return { ...rest, description: described, "x-extensible-enum": values };
}

function listOf(values: readonly string[], description: string): string {
  if (values.length > MAX_LISTED) return "One of `x-extensible-enum`, or another.";
  // The description says what each of them means.
  if (values.every((value) => description.includes(value))) return "Or another.";
  return `${values.join(", ")}, or others.`;
}
