import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Clock } from "../../../src/lib/clock.ts";

/** A pair of connections: when data last passed, and what closes it if nothing passes. */
interface Pair {
  passedAt: number;
  closing?: Disposable | undefined;
}

interface IdleRule {
  readonly ms: number;
  readonly clock: Clock;
}

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
  #forgets: IdleRule | undefined;
  #closes: IdleRule | undefined;
  #closed = 0;

  private constructor(port: number) {
    this.#server = createServer((near) => {
      if (this.#isDown) {
        near.resetAndDestroy();
        return;
      }
      const far = connect(port, "127.0.0.1");
      const pair: Pair = { passedAt: this.#forgets?.clock.monotonic() ?? 0 };
      this.#join(near, far, "up", () => this.#passes(near, pair));
      this.#join(far, near, "down", () => this.#passes(near, pair));
      this.#passes(near, pair);
      near.on("close", () => pair.closing?.[Symbol.dispose]());
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

  /** Drops connections that are idle for this long, as NAT does: later data is lost. To be called before the first one. */
  forgetAfter(ms: number, clock: Clock): void {
    this.#forgets = { ms, clock };
  }

  /** Closes connections that are idle for this long, as proxies do: in turn by FIN and by RST. */
  closeAfter(ms: number, clock: Clock): void {
    this.#closes = { ms, clock };
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

  /** Data is about to pass. @returns whether the pair is still known */
  #passes(near: Socket, pair: Pair): boolean {
    if (this.#forgets) {
      const now = this.#forgets.clock.monotonic();
      if (now - pair.passedAt >= this.#forgets.ms) return false;
      pair.passedAt = now;
    }
    pair.closing?.[Symbol.dispose]();
    pair.closing = this.#closes?.clock.timer(this.#closes.ms, () => {
      if (this.#closed++ % 2 === 0) near.end();
      else near.resetAndDestroy();
    });
    return true;
  }

  #join(from: Socket, to: Socket, direction: "up" | "down", passes: () => boolean): void {
    this.#sockets.add(from);
    from.on("error", () => undefined);
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    from.on("data", (chunk: Buffer) => {
      if (this.loses !== undefined && chunk.includes(this.loses)) return void from.resetAndDestroy();
      if (this.onChunk?.(direction) === false) return void from.resetAndDestroy();
      if (!passes()) return;
      this.bytes += chunk.length;
      to.write(chunk);
    });
  }
}
