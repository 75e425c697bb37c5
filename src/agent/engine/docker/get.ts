import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type Docker from "dockerode";

type Query = Readonly<Record<string, string | number | boolean>>;

/** GET for the calls that the client library offers without a signal to end them. */
export function getJson<T>(docker: Docker, path: string, abortSignal: AbortSignal, query: Query = {}): Promise<T> {
  return dial(docker, path, query, false, abortSignal) as Promise<T>;
}

/** GET that answers the body as it comes. The library's own logs call parses what looks like JSON, as output may well. */
export function getStream(
  docker: Docker,
  path: string,
  query: Query,
  abortSignal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  return dial(docker, path, query, true, abortSignal) as Promise<AsyncIterable<Uint8Array>>;
}

/** Headers of the answer to a GET; the body is left aside. */
export async function getHeaders(docker: Docker, path: string, abortSignal: AbortSignal): Promise<IncomingHttpHeaders> {
  const answer = (await dial(docker, path, {}, true, abortSignal)) as IncomingMessage;
  answer.resume();
  return answer.headers;
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
    docker.modem.dial(options, (error: Error | null, answer: unknown) => {
      if (error) reject(error);
      else resolve(answer);
    });
  });
}
