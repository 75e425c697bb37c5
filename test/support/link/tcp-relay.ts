import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A TCP relay, by default on loopback, whose connections can be cut, refused, or go silent as on a lost radio link. */
export class TcpRelay implements AsyncDisposable {
  /** Bytes relayed in both directions. */
  bytes = 0;
  /** Cuts a connection instead of relaying a chunk that contains this text. */
  loses: string | undefined;
  /**
   * Called with the direction of each chunk before it is relayed; `up` is towards the target. Resets the connection instead
   * of relaying the chunk if it returns false.
   */
  onChunk: ((direction: "up" | "down") => boolean) | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isDown = false;
  #forgetsAfterMs: number | undefined;
  #closesAfterMs: number | undefined;
  #closed = 0;

  private constructor(port: number) {
    this.#server = createServer((near) => {
      if (this.#isDown) {
        near.resetAndDestroy();
        return;
      }
      const far = connect(port, "127.0.0.1");
      const passed = { at: performance.now() };
      this.#join(near, far, "up", passed);
      this.#join(far, near, "down", passed);
      this.#watch(near, passed);
    });
  }

  /** @param port target port on loopback @param host address to listen on */
  static async to(port: number, host: string = "127.0.0.1"): Promise<TcpRelay> {
    const relay = new TcpRelay(port);
    await new Promise<void>((resolve) => {
      relay.#server.listen(0, host, resolve);
    });
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resets all open connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Resets all open connections, and every new one until `restore`. */
  sever(): void {
    this.#isDown = true;
    this.cut();
  }

  /** Accepts connections again after `sever`. */
  restore(): void {
    this.#isDown = false;
  }

  /** Drops connections that are idle for this long, as NAT does: later data is lost. */
  forgetAfter(ms: number): void {
    this.#forgetsAfterMs = ms;
  }

  /** Closes connections that are idle for this long, as proxies do: in turn by FIN and by RST. */
  closeAfter(ms: number): void {
    this.#closesAfterMs = ms;
  }

  /** Silently stops relaying on the open connections. */
  silence(): void {
    for (const socket of this.#sockets) {
      socket.removeAllListeners("data");
      socket.pause();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #watch(near: Socket, passed: { at: number }): void {
    const watching = setInterval(() => {
      if (this.#closesAfterMs === undefined || performance.now() - passed.at < this.#closesAfterMs) return;
      if (this.#closed++ % 2 === 0) near.end();
      else near.resetAndDestroy();
    }, 10);
    near.on("close", () => clearInterval(watching));
  }

  #join(from: Socket, to: Socket, direction: "up" | "down", passed: { at: number }): void {
    this.#sockets.add(from);
    from.on("error", () => undefined);
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    from.on("data", (chunk: Buffer) => {
      if (this.loses !== undefined && chunk.includes(this.loses)) return void from.resetAndDestroy();
      if (this.onChunk?.(direction) === false) return void from.resetAndDestroy();
      const now = performance.now();
      if (this.#forgetsAfterMs !== undefined && now - passed.at >= this.#forgetsAfterMs) return;
      passed.at = now;
      this.bytes += chunk.length;
      to.write(chunk);
    });
  }
}
