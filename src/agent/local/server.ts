import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { errorText } from "../../lib/error-text.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { MAX_REQUEST_BYTES } from "../../protocol/limits.ts";
import { VERSION } from "../../lib/version.ts";
import { API, VERSION_HEADER } from "./api-path.ts";
import { listenLocally } from "./listen.ts";
import { LocalError } from "./local-error.ts";
import { type RouteAccess, findRoute, type Handler, type LocalRequest, type Routes } from "./routes.ts";
import { FULL_ACCESS_GROUP } from "../config/socket-path.ts";

/** On the socket for reading: requests at once, and connections, so that its users cannot exhaust the agent. */
const MAX_READ_REQUESTS = 16;
const MAX_READ_CONNECTIONS = 32;

/** How many bytes may wait for a reader that does not read, before it is cut off. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;

const READ_ONLY_MESSAGE = `This socket is for reading only. To change anything, be root or a member of the group ${FULL_ACCESS_GROUP}, whose members have all rights on this device.`;
const TOO_MANY_MESSAGE = `There are ${MAX_READ_REQUESTS} requests on the socket for reading already; wait until one has ended.`;

export interface LocalServerOptions {
  readonly path: string;
  /** Group whose members may use the socket. */
  readonly group: string;
  /** What may be asked for on it: reading, or everything. */
  readonly access: RouteAccess;
  readonly routes: Routes;
  readonly logger: Logger;
  /** Told of each request. */
  readonly onRequest?: () => void;
}

/** Serves local commands on a unix socket until disposed. Rejects where it cannot listen. */
async function startLocalServer(options: LocalServerOptions): Promise<AsyncDisposable> {
  const stopping = new AbortController();
  const going = new Set<Exchange>();
  const server = createServer((request, response) => {
    options.onRequest?.();
    const exchange = new Exchange(options, request, response, stopping.signal);
    going.add(exchange);
    const isOneTooMany = options.access === "read" && going.size > MAX_READ_REQUESTS;
    void exchange.run(isOneTooMany).finally(() => going.delete(exchange));
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

/** The same, but an agent that cannot listen goes on without: it has more important things to do. */
export async function serveLocally(options: LocalServerOptions): Promise<AsyncDisposable> {
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
  readonly #gone = new AbortController();

  constructor(options: LocalServerOptions, request: IncomingMessage, response: ServerResponse, stopping: AbortSignal) {
    this.#options = options;
    this.#request = request;
    this.#response = response;
    response.setHeader(VERSION_HEADER, VERSION);
    const leave = (): void =>
      this.#gone.abort(stopping.aborted ? stopping.reason : new DOMException("the reader has gone", "AbortError"));
    stopping.addEventListener("abort", leave, { once: true });
    response.once("close", () => {
      stopping.removeEventListener("abort", leave);
      leave();
    });
    response.on("error", leave);
  }

  /** Never rejects. @param isOneTooMany others have to end first */
  async run(isOneTooMany: boolean): Promise<void> {
    try {
      if (isOneTooMany) throw new LocalError(503, "TooManyRequests", TOO_MANY_MESSAGE);
      const url = new URL(this.#request.url ?? "/", "http://agent");
      if (!url.pathname.startsWith(`${API}/`)) throw new LocalError(404, "NotFound", `Requests begin with ${API}/.`);
      const { handler, params } = findRoute(
        this.#options.routes,
        this.#request.method ?? "",
        url.pathname.slice(API.length),
      );
      // Before anything is read of the request.
      if (this.#options.access === "read" && handler.access !== "read") {
        throw new LocalError(403, "ReadOnlySocket", READ_ONLY_MESSAGE);
      }
      const body = await readBody(this.#request);
      await this.#serve(handler, { params, query: url.searchParams, body, signal: this.#gone.signal });
    } catch (error) {
      this.#fail(error);
    }
  }

  async #serve(handler: Handler, request: LocalRequest): Promise<void> {
    if (handler.kind === "answer") {
      this.#answer(200, await handler.run(request));
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

  #answer(status: number, value: unknown): void {
    if (this.#response.destroyed) return;
    this.#response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  }

  #fail(error: unknown): void {
    if (this.#gone.signal.aborted) {
      this.#response.destroy();
      return;
    }
    const { status, code, message } = this.#describe(error);
    if (!this.#response.headersSent) return this.#answer(status, { error: { code, message } });
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
    if (length > MAX_REQUEST_BYTES) throw new LocalError(413, "PayloadTooLarge", "The request is too large.");
    chunks.push(chunk);
  }
  if (length === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
  } catch {
    throw new LocalError(400, "InvalidJson", "The request is not valid JSON.");
  }
}
