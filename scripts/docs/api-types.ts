import { openApiDocument } from "./openapi-document.ts";
import { resolveComponents } from "./resolve-components.ts";
import { type JsonSchema, typeOf } from "./schema-types.ts";

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

type Contents = Readonly<Record<string, { readonly schema?: JsonSchema }>>;

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content: Contents };
  readonly responses: Readonly<Record<string, { readonly content?: Contents }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<(typeof METHODS)[number], Operation>>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

/**
 * Returns the module with the types of the HTTP API, for the programs that are its clients: the schemas of the OpenAPI document, and
 * its operations. One line each; the file is not formatted.
 */
export async function apiTypes(): Promise<string> {
  const { paths, components } = inlinePlain(resolveComponents((await openApiDocument()) as Document));
  const schemas = Object.entries(components.schemas).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith("/v1/"))
    .flatMap(([path, methods]) =>
      METHODS.flatMap((method) => {
        const operation = methods[method];
        return operation ? [`  "${method.toUpperCase()} ${path}": ${operationType(operation)};`] : [];
      }),
    );
  return [
    "// Generated from the OpenAPI document by `npm run docs`.",
    ...schemas.map(([id, schema]) => `export type ${id} = ${typeOf(schema)};`),
    "/** Operations of the API by method and path: what is sent and received. */",
    "export interface Operations {",
    ...operations,
    "}",
    "",
  ].join("\n");
}

/** A type that says as much as a name for it. */
const PLAIN = /^(?:string|number|boolean)(?: \| null)?$/;

/** Puts schemas of plain values in the places that refer to them: they are shared for the size of the document only. */
function inlinePlain(document: Document): Document {
  const { schemas } = document.components;
  const plain = new Map(
    Object.entries(schemas)
      .filter(([, schema]) => PLAIN.test(typeOf(schema)))
      .map(([name, schema]) => [`#/components/schemas/${name}`, schema]),
  );
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (typeof value !== "object" || value === null) return value;
    const schema = plain.get(String((value as JsonSchema).$ref));
    if (schema) return schema;
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, inline(child)]));
  };
  const others = Object.entries(schemas).filter(([name]) => !plain.has(`#/components/schemas/${name}`));
  return inline({
    ...document,
    components: { ...document.components, schemas: Object.fromEntries(others) },
  }) as Document;
}

function operationType({ parameters = [], requestBody, responses }: Operation): string {
  const fields = (place: string, type: string): string | undefined => {
    const named = parameters.filter((parameter) => parameter.in === place);
    const texts = named.map(({ name, required }) => `${name}${required ? "" : "?"}: ${type}`);
    return texts.length > 0 ? `{ ${texts.join("; ")} }` : undefined;
  };
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const received = (read: typeof contentType): string | undefined => {
    const types = new Set(successes.flatMap(([, { content }]) => read(content) ?? []));
    return types.size > 0 ? [...types].join(" | ") : undefined;
  };
  const types = Object.entries({
    path: fields("path", "string"),
    query: fields("query", "string | undefined"),
    body: contentType(requestBody?.content),
    response: received(contentType),
    message: received(messageType),
  });
  return `{ ${types.map(([name, type]) => `${name}: ${type ?? "undefined"}`).join("; ")} }`;
}

/** The type of a JSON body. */
function contentType(content: Contents = {}): string | undefined {
  return typeOfMedia(content["application/json"]);
}

/** The type of one of the messages that a stream consists of. */
function messageType(content: Contents = {}): string | undefined {
  return typeOfMedia(content["text/event-stream"] ?? content["application/x-ndjson"]);
}

function typeOfMedia(media: Contents[string] | undefined): string | undefined {
  return media && typeOf(media.schema ?? {});
}
