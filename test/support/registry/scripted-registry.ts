import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Certificate } from "../link/certificates.ts";

/** An HTTP server on loopback that responds as a test says, and records the requests. */
export class ScriptedRegistry implements AsyncDisposable {
  /** The requests, in order. */
  readonly requests: IncomingMessage[] = [];
  /** TCP connections, in order. */
  readonly connections: Socket[] = [];
  readonly #server;

  private constructor(respond: RequestListener, certificate: Certificate | undefined) {
    const listener: RequestListener = (request, response) => {
      this.requests.push(request);
      respond(request, response);
    };
    this.#server = certificate ? createTlsServer(certificate, listener) : createServer(listener);
    // A client that gets no time for some seconds finds its connection open: Node.js closes idle ones after five.
    this.#server.keepAliveTimeout = 0;
    this.#server.on("connection", (socket: Socket) => void this.connections.push(socket));
  }

  /** @param certificate for https; default: plain HTTP */
  static async start(respond: RequestListener, certificate?: Certificate): Promise<ScriptedRegistry> {
    const registry = new ScriptedRegistry(respond, certificate);
    await new Promise<void>((resolve) => registry.#server.listen(0, "127.0.0.1", resolve));
    return registry;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `127.0.0.1:PORT`. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Method and path of each request, in order. */
  get asked(): readonly string[] {
    return this.requests.map(({ method, url }) => `${method} ${url}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
