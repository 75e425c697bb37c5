import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Exchange } from "./conformance.ts";

const CHANNEL = "http.server.request.start";

interface Started {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly server: Server;
}

/**
 * Calls `onExchange` with every response of this process's HTTP servers on the given ports, once it is complete or the
 * client has disconnected.
 */
export function watchResponses(
  isWatched: (port: number) => boolean,
  onExchange: (exchange: Exchange) => void,
): Disposable {
  const onStart = (message: unknown): void => {
    const { request, response, server } = message as Started;
    const address = server.address() as AddressInfo | null;
    if (address && isWatched(address.port)) record(request, response, onExchange);
  };
  subscribe(CHANNEL, onStart);
  return { [Symbol.dispose]: () => void unsubscribe(CHANNEL, onStart) };
}

function record(request: IncomingMessage, response: ServerResponse, onExchange: (exchange: Exchange) => void): void {
  const chunks: Buffer[] = [];
  const sent = recordBody(request);
  const headers: Record<string, unknown> = {};
  wrap(response, "writeHead", (args) => Object.assign(headers, lowerKeys(args.at(-1))));
  for (const method of ["write", "end"] as const) {
    wrap(response, method, ([chunk]) => {
      if (typeof chunk === "string" || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk as string));
    });
  }
  response.once("close", () => {
    if (!response.headersSent) return;
    const all = texts({ ...response.getHeaders(), ...headers });
    onExchange({
      method: request.method ?? "",
      url: request.url ?? "",
      status: response.statusCode,
      contentType: all["content-type"],
      allow: all["allow"],
      headers: all,
      requestHeaders: texts(request.headers),
      body: Buffer.concat(chunks).toString(),
      sent: Buffer.concat(sent).toString(),
    });
  });
}

/** Returns the chunks of the body, to which those are added that still arrive. Reads nothing that the server does not read. */
function recordBody(request: IncomingMessage): readonly Buffer[] {
  const chunks: Buffer[] = [];
  const push = request.push.bind(request);
  request.push = (chunk: unknown, encoding) => {
    if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
    return push(chunk, encoding);
  };
  return chunks;
}

function wrap(response: ServerResponse, method: "write" | "end" | "writeHead", look: (args: unknown[]) => void): void {
  const original = response[method] as (...args: unknown[]) => unknown;
  Object.assign(response, {
    [method](...args: unknown[]) {
      look(args);
      return original.apply(response, args);
    },
  });
}

function texts(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === "string" || typeof value === "number" || Array.isArray(value)
        ? [[name, [value].flat().join(", ")]]
        : [],
    ),
  );
}

function lowerKeys(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key.toLowerCase(), entry as unknown]));
}
