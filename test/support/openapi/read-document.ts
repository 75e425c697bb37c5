import { resolveComponents } from "../../../scripts/docs/resolve-components.ts";
import type { OpenApiDocument } from "./conformance.ts";

/**
 * Returns the OpenAPI document of a server with each parameter, response, header and example in its places.
 *
 * @param url the server's address, such as `http://127.0.0.1:40123`
 */
export async function readDocument(url: string): Promise<OpenApiDocument> {
  const response = await fetch(`${url}/openapi.json`);
  return resolveComponents((await response.json()) as OpenApiDocument);
}
