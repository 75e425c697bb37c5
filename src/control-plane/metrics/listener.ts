import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "../../lib/logger.ts";

const PATH = "/metrics";
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** Two Prometheus servers, an operator with curl, and connections that are being closed. */
export const MAX_METRICS_CONNECTIONS = 32;

export interface MetricsListenerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly contentType: string;
  /** Returns all metrics as text. */
  readonly render: () => Promise<string>;
  readonly logger: Logger;
}

/** Serves `GET /metrics` and nothing else. */
export class MetricsListener implements AsyncDisposable {
  readonly address: AddressInfo;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.address = server.address() as AddressInfo;
  }

  /** Resolves when it listens. Rejects when it cannot listen on the address. */
  static async open(options: MetricsListenerOptions): Promise<MetricsListener> {
    const { host, port } = options.listen;
    // Requests that arrive together share one text.
    let rendering: Promise<string> | undefined;
    const render = (): Promise<string> =>
      (rendering ??= options.render().finally(() => {
        rendering = undefined;
      }));
    const timeouts = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS };
    const server = createServer(timeouts, (request, response) => {
      respond(request, response, { ...options, render }).catch((error: unknown) => {
        options.logger.error({ err: error }, "cannot render the metrics");
        end(response, 500, "The metrics cannot be rendered; see the log.\n");
      });
    });
    server.maxConnections = MAX_METRICS_CONNECTIONS;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => resolve());
    });
    // It must not keep the process alive: the service decides when it ends.
    server.unref();
    return new MetricsListener(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    this.#server.closeAllConnections();
    await closed;
  }
}

async function respond(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  { contentType, render }: Pick<MetricsListenerOptions, "contentType" | "render">,
): Promise<void> {
  if (url?.split("?")[0] !== PATH) return end(response, 404, `Only ${PATH} is served here.\n`);
  if (method !== "GET" && method !== "HEAD") {
    response.setHeader("Allow", "GET, HEAD");
    return end(response, 405, "This address supports GET, HEAD.\n");
  }
  const text = await render();
  response.setHeader("Content-Type", contentType);
  response.end(text);
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" });
  response.end(text);
}
