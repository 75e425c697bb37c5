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
 * Returns the console's module with the types of the API: the schemas of the OpenAPI document, and its operations. One
 * line each; the file is not formatted.
 */
export async function consoleTypes(): Promise<string> {
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
  const query = parameters.filter((parameter) => parameter.in === "query");
  const fields = query.map(({ name, required }) => `${name}${required ? "" : "?"}: QueryValue`);
  const success = Object.entries(responses).find(([status]) => status.startsWith("2"))?.[1];
  const types = Object.entries({
    query: fields.length > 0 ? `{ ${fields.join("; ").replaceAll("QueryValue", "string | undefined")} }` : undefined,
    body: contentType(requestBody?.content),
    response: contentType(success?.content),
  });
  return `{ ${types.map(([name, type]) => `${name}: ${type ?? "undefined"}`).join("; ")} }`;
}

/** The type of a JSON body; of a stream, that of one of its messages. */
function contentType(content: Contents | undefined): string | undefined {
  const media = content && (content["application/json"] ?? Object.values(content)[0]);
  return media && typeOf(media.schema ?? {});
}
