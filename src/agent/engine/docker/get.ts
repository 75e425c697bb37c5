import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type Docker from "dockerode";
import { BodyTooLongError, readAll } from "../../../lib/registry/read-body.ts";
import { JSON_LIMITS, JsonLimitError, parseBoundedJson } from "../../../protocol/values/bounded-json.ts";
import { EngineError } from "../engine-error.ts";

type Query = Readonly<Record<string, string | number | boolean>>;

/**
 * GET of JSON. The client library would read a response of any length, and parse it: what an image says of itself is in it. An
 * answer that is no JSON resolves to its bytes, of which the caller requires fields.
 */
export async function getJson<T>(
  docker: Docker,
  path: string,
  abortSignal: AbortSignal,
  query: Query = {},
): Promise<T> {
  const body = await dial(docker, path, query, true, abortSignal);
  return parseAnswer(await readAll(body as AsyncIterable<Uint8Array>, JSON_LIMITS.engine.maxBytes).catch(explain)) as T;
}

/** Parses an answer of the engine; returns its bytes if it is no JSON. Errors: `EngineError` if it exceeds a bound. */
export function parseAnswer(bytes: Uint8Array): unknown {
  try {
    return parseBoundedJson(bytes, "engine") ?? bytes;
  } catch (error) {
    if (error instanceof SyntaxError) return bytes;
    return explain(error);
  }
}

function explain(error: unknown): never {
  if (!(error instanceof JsonLimitError) && !(error instanceof BodyTooLongError)) throw error;
  throw new EngineError("invalid", "an answer of the container engine is too large: an image has too many labels", {
    cause: error,
  });
}

/** GET that returns the body as a stream. The library's own call for logs parses output that looks like JSON. */
export function getStream(
  docker: Docker,
  path: string,
  query: Query,
  abortSignal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  return dial(docker, path, query, true, abortSignal) as Promise<AsyncIterable<Uint8Array>>;
}

/** GET that returns the response headers and discards the body. */
export async function getHeaders(docker: Docker, path: string, abortSignal: AbortSignal): Promise<IncomingHttpHeaders> {
  const response = (await dial(docker, path, {}, true, abortSignal)) as IncomingMessage;
  response.resume();
  return response.headers;
}

function dial(
  docker: Docker,
  path: string,
  query: Query,
  isStream: boolean,
  abortSignal: AbortSignal,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const statusCodes = { 200: true, 404: "not found", 500: "server error" };
    const options = { path: `${path}?`, method: "GET", options: { ...query }, isStream, abortSignal, statusCodes };
    docker.modem.dial(options, (error: Error | null, response: unknown) => {
      if (error) reject(error);
      else resolve(response);
    });
  });
}
