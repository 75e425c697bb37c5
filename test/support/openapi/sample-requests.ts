import type { OpenApiDocument } from "./conformance.ts";

/** A valid request by the document, with placeholders for path parameters. */
export interface SampleRequest {
  readonly method: string;
  readonly path: string;
  /** An example of the document, if the operation has a body. */
  readonly body: unknown;
}

interface Described {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}
interface Schema {
  readonly $ref?: string;
  readonly examples?: readonly unknown[];
}

/** Returns one request for every operation of the document. */
export function sampleRequests(document: OpenApiDocument): SampleRequest[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      body: exampleBody(document, operation as Described, `${method} ${path}`),
    })),
  );
}

function exampleBody(document: OpenApiDocument, operation: Described, name: string): unknown {
  const schema = operation.requestBody?.content["application/json"]?.schema;
  if (!schema) return undefined;
  const examples = resolve(document, schema).examples;
  if (!examples?.[0]) throw new Error(`the document has no example of a body for ${name}`);
  return examples[0];
}

function resolve(document: OpenApiDocument, schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (document.components.schemas[name] as Schema);
}
