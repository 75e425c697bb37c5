import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type Docker from "dockerode";

type Query = Readonly<Record<string, string | number | boolean>>;

/** GET for calls for which the client library supports no abort signal. */
export function getJson<T>(docker: Docker, path: string, abortSignal: AbortSignal, query: Query = {}): Promise<T> {
  return dial(docker, path, query, false, abortSignal) as Promise<T>;
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
