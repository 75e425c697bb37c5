import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface SeenRequest {
  readonly method: string;
  /** Including the query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type Respond = (response: ServerResponse, request: SeenRequest) => void | Promise<void>;

/** An HTTP server with scripted responses, for what a correct service never sends. */
export interface ScriptedService extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** Sets the responses to `METHOD /path` (without query), in order; the last one repeats. */
  on(route: string, ...answers: Respond[]): void;
}

export async function startScriptedService(): Promise<ScriptedService> {
  const routes = new Map<string, Respond[]>();
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void answer(request, response);
  });
  // A client that gets no time for some seconds finds its connection open: Node.js closes idle ones after five.
  server.keepAliveTimeout = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "", headers } = request;
    const seen: SeenRequest = { method, path: url, headers, body: await text(request) };
    requests.push(seen);
    const answers = routes.get(`${method} ${url.split("?")[0]}`) ?? [];
    const next = answers.length > 1 ? answers.shift() : answers[0];
    await (next ?? json(404, { code: "NotFound", message: "There is nothing at this address." }))(response, seen);
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    on: (route, ...answers) => void routes.set(route, answers),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** A JSON response. */
export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Respond {
  return (response) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}

interface StreamOptions {
  readonly status?: number;
  readonly deploymentId?: string;
  /** Destroys the connection after the events instead of ending the response. */
  readonly cut?: true;
  /** Leaves the response open after the events. */
  readonly open?: true;
}

/** A stream of deployment events. */
export function stream(events: readonly unknown[], options: StreamOptions = {}): Respond {
  return async (response) => {
    const { status = 200, deploymentId = "dep_1", cut, open } = options;
    response.writeHead(status, { "Content-Type": "text/event-stream", "Deployment-Id": deploymentId });
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    // Cut the connection only after the events are sent.
    await new Promise<void>((resolve) => {
      response.write(body === "" ? "\n" : body, () => setImmediate(resolve));
    });
    if (cut) response.destroy();
    else if (!open) response.end();
  };
}

/** A deployment event in the service's format. */
export function event(seq: number, fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    deployment_id: "dep_1",
    seq,
    timestamp: 1_795_000_000 + seq,
    status: "Running",
    step: "checking",
    message: `Event ${seq}`,
    ...fields,
  };
}
