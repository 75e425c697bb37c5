import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";

/** An HTTP proxy on loopback that supports only `CONNECT`. */
export class ConnectProxy implements AsyncDisposable {
  /** Targets of `CONNECT` requests, such as `example.net:443`. */
  readonly targets: string[] = [];
  /** `Proxy-Authorization` of each request. */
  readonly credentials: (string | undefined)[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();

  private constructor(answer: string | undefined, silent: boolean) {
    this.#server = createServer();
    this.#server.on("connection", (socket: Duplex) => this.#track(socket));
    this.#server.on("connect", (request: IncomingMessage, socket: Duplex) => {
      this.targets.push(request.url ?? "");
      this.credentials.push(request.headers["proxy-authorization"]);
      // An HTTP server's sockets allow half-open connections, and a socket that is not read never sees the peer's end.
      if (silent) socket.resume().on("end", () => socket.end());
      else if (answer === undefined) this.#tunnel(request.url ?? "", socket);
      else socket.end(answer);
    });
  }

  /** @param options `answer`: an HTTP response that refuses every request; `silent`: sends no response */
  static async start(options: { readonly answer?: string; readonly silent?: boolean } = {}): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(options.answer, options.silent ?? false);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, "127.0.0.1", resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #tunnel(target: string, near: Duplex): void {
    const far = connect(Number(target.split(":").at(-1)), "127.0.0.1", () => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      near.pipe(far);
      far.pipe(near);
    });
    this.#track(far);
    far.on("close", () => near.destroy());
    near.on("close", () => far.destroy());
  }

  #track(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
  }
}
