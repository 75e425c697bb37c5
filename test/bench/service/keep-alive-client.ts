import { type Socket, connect } from "node:net";

/** A URL to request repeatedly. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const END_OF_HEADERS = "\r\n\r\n";

/**
 * A keep-alive connection that sends one request at a time. Much cheaper than a full HTTP client, so that the server is
 * measured. It needs responses with `Content-Length` and rejects any status but 200.
 */
export class KeepAliveClient implements Disposable {
  readonly #socket: Socket;
  #received = "";
  #answered: PromiseWithResolvers<string> | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => this.#read(chunk));
    socket.on("close", () => this.#answered?.reject(new Error("the server closed the connection")));
    socket.on("error", (error) => this.#answered?.reject(error));
  }

  static async connect({ host, port }: Pick<Target, "host" | "port">): Promise<KeepAliveClient> {
    const socket = connect(port, host);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve).once("error", reject);
    });
    return new KeepAliveClient(socket);
  }

  /** Sends a request made by `requestFor` and returns the body. */
  ask(request: string): Promise<string> {
    this.#answered = Promise.withResolvers<string>();
    this.#socket.write(request, "latin1");
    return this.#answered.promise;
  }

  [Symbol.dispose](): void {
    this.#answered = undefined;
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    this.#received += chunk;
    const end = this.#received.indexOf(END_OF_HEADERS);
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#received)?.[1]);
    const start = end + END_OF_HEADERS.length;
    if (this.#received.length < start + length) return;
    const answer = this.#received;
    this.#received = "";
    if (answer.startsWith("HTTP/1.1 200 ")) this.#answered?.resolve(answer.slice(start));
    else this.#answered?.reject(new Error(`unexpected response: ${answer}`));
  }
}

/** Returns the raw HTTP request for a target. */
export function requestFor({ host, port, path, headers }: Target): string {
  const lines = Object.entries({ host: `${host}:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`);
  return [`GET ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}
