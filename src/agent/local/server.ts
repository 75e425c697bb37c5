import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { errorText } from "../../lib/error-text.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { MAX_APPLY_BYTES } from "../../protocol/apps/apply.ts";
import { VERSION } from "../../lib/version.ts";
import { API, VERSION_HEADER } from "./api-path.ts";
import { listenLocally } from "./listen.ts";
import { LocalError } from "./local-error.ts";
import { type RouteAccess, findRoute, type Handler, type LocalRequest, type Routes } from "./routes.ts";
import { FULL_ACCESS_GROUP, READ_ONLY_GROUP, readOnlySocketPath } from "../config/socket-path.ts";
import { JsonLimitError, parseBoundedJson } from "../../protocol/values/bounded-json.ts";

/** Limits of the read-only socket, so that its users cannot exhaust the agent. */
const MAX_READ_REQUESTS = 16;
const MAX_READ_CONNECTIONS = 32;

/** Maximum bytes buffered for a slow client before it is disconnected. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;

const READ_ONLY_MESSAGE = `This socket is for reading only. To change anything, be root or a member of the group ${FULL_ACCESS_GROUP}, whose members have all rights on this device.`;
const TOO_MANY_MESSAGE = `There are ${MAX_READ_REQUESTS} requests on the socket for reading already; wait until one has ended.`;

interface LocalServerOptions {
  readonly path: string;
  /** Group whose members may use the socket. */
  readonly group: string;
  /** `change` allows every route, `read` only those that read. */
  readonly access: RouteAccess;
  readonly routes: Routes;
  readonly logger: Logger;
  /** Called for each request. */
  readonly onRequest?: () => void;
}

/** Serves the local API on a unix socket until disposed. Rejects if it cannot listen. */
async function startLocalServer(options: LocalServerOptions): Promise<AsyncDisposable> {
  const stopping = new AbortController();
  const exchanges = new Set<Exchange>();
  const server = createServer((request, response) => {
    options.onRequest?.();
    const exchange = new Exchange(options, request, response, stopping.signal);
    exchanges.add(exchange);
    const isOverLimit = options.access === "read" && exchanges.size > MAX_READ_REQUESTS;
    void exchange.run(isOverLimit).finally(() => exchanges.delete(exchange));
  });
  if (options.access === "read") server.maxConnections = MAX_READ_CONNECTIONS;
  await listenLocally(server, options.path, options.group);
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort(new DOMException("the agent is stopping", "AbortError"));
      await close(server);
    },
  };
}

/**
 * Serves the local API on two sockets until disposed: one that may change things, and one beside it that only reads. Where it cannot
 * listen, it logs a warning: the agent works without it.
 *
 * @param path of the first one
 */
export async function serveLocally(
  path: string,
  served: Pick<LocalServerOptions, "routes" | "logger" | "onRequest">,
): Promise<AsyncDisposable> {
  const sockets = new AsyncDisposableStack();
  sockets.use(await tryServe({ ...served, path, group: FULL_ACCESS_GROUP, access: "change" }));
  sockets.use(await tryServe({ ...served, path: readOnlySocketPath(path), group: READ_ONLY_GROUP, access: "read" }));
  return sockets;
}

async function tryServe(options: LocalServerOptions): Promise<AsyncDisposable> {
  try {
    return await startLocalServer(options);
  } catch (error) {
    const reason = errorText(error);
    const what = options.access === "read" ? "users who may only read" : "commands given on this device";
    options.logger.warn(
      { socket: options.path, reason },
      `${what} cannot be served; everything else works. Free the path and restart the agent: systemctl restart edge-agent`,
    );
    return { [Symbol.asyncDispose]: async () => undefined };
  }
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  server.closeAllConnections();
  await closed;
}

class Exchange {
  readonly #options: LocalServerOptions;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #ended = new AbortController();

  constructor(options: LocalServerOptions, request: IncomingMessage, response: ServerResponse, stopping: AbortSignal) {
    this.#options = options;
    this.#request = request;
    this.#response = response;
    response.setHeader(VERSION_HEADER, VERSION);
    const end = (): void =>
      this.#ended.abort(
        stopping.aborted ? stopping.reason : new DOMException("the client has disconnected", "AbortError"),
      );
    stopping.addEventListener("abort", end, { once: true });
    response.once("close", () => {
      stopping.removeEventListener("abort", end);
      end();
    });
    response.on("error", end);
  }

  /** Handles the request. Never rejects. @param isOverLimit whether to refuse it */
  async run(isOverLimit: boolean): Promise<void> {
    try {
      if (isOverLimit) throw new LocalError(503, "TooManyRequests", TOO_MANY_MESSAGE);
      const url = new URL(this.#request.url ?? "/", "http://agent");
      if (!url.pathname.startsWith(`${API}/`)) throw new LocalError(404, "NotFound", `Requests begin with ${API}/.`);
      const { handler, params } = findRoute(
        this.#options.routes,
        this.#request.method ?? "",
        url.pathname.slice(API.length),
      );
      // Checked before the body is read.
      if (this.#options.access === "read" && handler.access !== "read") {
        throw new LocalError(403, "ReadOnlySocket", READ_ONLY_MESSAGE);
      }
      const body = await readBody(this.#request);
      await this.#serve(handler, { params, query: url.searchParams, body, signal: this.#ended.signal });
    } catch (error) {
      this.#fail(error);
    }
  }

  async #serve(handler: Handler, request: LocalRequest): Promise<void> {
    if (handler.kind === "response") {
      this.#respond(200, await handler.run(request));
      return;
    }
    await handler.run(request, (value) => this.#write(value));
    this.#begin();
    this.#response.end();
  }

  #begin(): void {
    if (this.#response.headersSent) return;
    this.#response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    this.#response.flushHeaders();
  }

  #write(value: unknown): void {
    this.#begin();
    if (this.#response.writableLength > MAX_BUFFERED_BYTES) this.#response.destroy();
    else if (!this.#response.destroyed) this.#response.write(`${JSON.stringify(value)}\n`);
  }

  #respond(status: number, value: unknown): void {
    if (this.#response.destroyed) return;
    this.#response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  }

  #fail(error: unknown): void {
    if (this.#ended.signal.aborted) {
      this.#response.destroy();
      return;
    }
    const { status, code, message } = this.#describe(error);
    if (!this.#response.headersSent) return this.#respond(status, { error: { code, message } });
    this.#write({ error: { code, message } });
    this.#response.end();
  }

  #describe(error: unknown): LocalError {
    if (error instanceof LocalError) return error;
    if (error instanceof EdgeError) return new LocalError(422, error.code, error.message);
    this.#options.logger.error(
      { err: error },
      "a command given on this device failed unexpectedly; nothing else is affected. Please report it: edge-agent support-bundle FILE",
    );
    return new LocalError(500, "Internal", "Something went wrong inside the agent; its log says what.");
  }
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_APPLY_BYTES) throw new LocalError(413, "PayloadTooLarge", "The request is too large.");
    chunks.push(chunk);
  }
  if (length === 0) return undefined;
  try {
    return parseBoundedJson(Buffer.concat(chunks), "request");
  } catch (error) {
    if (error instanceof JsonLimitError) throw new LocalError(413, "PayloadTooLarge", `The request ${error.message}.`);
    throw new LocalError(400, "InvalidJson", "The request is not valid JSON.");
  }
}
