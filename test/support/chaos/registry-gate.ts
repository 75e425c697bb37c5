import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request to the registry: before it is forwarded, when the response begins, or with half of its body on the way. */
export interface RegistryCall {
  readonly path: string;
  readonly phase: "before" | "after" | "during";
}

/** Returns whether the call goes on; otherwise its connection is cut. */
export type RegistryInterceptor = (call: RegistryCall) => boolean | Promise<boolean>;

/** A relay before a registry that can cut each request at three places. */
export class RegistryGate implements AsyncDisposable {
  /** Bytes of bodies that were relayed. */
  received = 0;
  readonly #upstreamPort: number;
  readonly #server: Server;
  #intercept: RegistryInterceptor = () => true;

  private constructor(upstreamPort: number) {
    this.#upstreamPort = upstreamPort;
    this.#server = createServer((incoming, outgoing) => {
      this.#relay(incoming, outgoing).catch(() => outgoing.destroy());
    });
    // A client that gets no time for some seconds finds its connection open: Node.js closes idle ones after five.
    this.#server.keepAliveTimeout = 0;
  }

  /** @param port of the registry on loopback */
  static async to(port: number): Promise<RegistryGate> {
    const gate = new RegistryGate(port);
    await new Promise<void>((resolve) => {
      gate.#server.listen(0, "127.0.0.1", resolve);
    });
    return gate;
  }

  /** `127.0.0.1:PORT`. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Asks `interceptor` for every further request. Default: all pass. */
  intercept(interceptor: RegistryInterceptor = () => true): void {
    this.#intercept = interceptor;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #relay(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method, headers, url: path = "" } = incoming;
    const cut = (): void => void incoming.socket.destroy();
    if (!(await this.#intercept({ path, phase: "before" }))) return cut();
    const onward = request({ host: "127.0.0.1", port: this.#upstreamPort, method, path, headers, agent: false });
    outgoing.once("close", () => onward.destroy());
    incoming.pipe(onward);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      onward.once("response", resolve).once("error", reject);
    });
    if (!(await this.#intercept({ path, phase: "after" }))) return cut();
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    const half = Number(response.headers["content-length"] ?? 0) / 2;
    let relayed = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const isHalf = relayed <= half && relayed + chunk.length > half;
      const bytes = isHalf ? chunk.subarray(0, Math.ceil(half) - relayed) : chunk;
      await written(outgoing, bytes);
      if (isHalf && !(await this.#intercept({ path, phase: "during" }))) return cut();
      if (isHalf) await written(outgoing, chunk.subarray(bytes.length));
      relayed += chunk.length;
      this.received += chunk.length;
    }
    outgoing.end();
  }
}

/** Resolves when the bytes are written or the client is gone. */
function written(to: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (to.destroyed) resolve();
    else to.write(bytes, () => resolve());
  });
}
