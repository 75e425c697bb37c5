import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";

interface ProxyOptions {
  /** An HTTP response that refuses every request. */
  readonly answer?: string;
  /** Sends no response. */
  readonly silent?: boolean;
  /** Where it listens, and where its targets are. Default: loopback. */
  readonly host?: string;
}

/** An HTTP proxy that supports only `CONNECT`, to ports of one host. */
export class ConnectProxy implements AsyncDisposable {
  /** Targets of `CONNECT` requests, such as `example.net:443`. */
  readonly targets: string[] = [];
  /** `Proxy-Authorization` of each request. */
  readonly credentials: (string | undefined)[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();

  readonly #host: string;

  private constructor({ answer, silent = false, host = "127.0.0.1" }: ProxyOptions) {
    this.#host = host;
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

  static async start(options: ProxyOptions = {}): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(options);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, proxy.#host, resolve);
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
    const far = connect(Number(target.split(":").at(-1)), this.#host, () => {
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
