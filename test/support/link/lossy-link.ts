import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What a link does to each of its connections, as far as the answers go. Bytes are counted from its beginning. */
export interface LinkConditions {
  /** The connection is reset once so many bytes came. */
  readonly cutAfter?: number;
  /** Silently stops delivering after this many bytes. */
  readonly stallAfter?: number;
  readonly bytesPerSecond?: number;
  /** Milliseconds each piece takes longer. */
  readonly latencyMs?: number;
}

const SLICE_MS = 20;

/**
 * A TCP link to a port on loopback such as a cellular modem offers. What it delivered is counted, also what was on its
 * way when a connection was cut: that is what a metered link bills.
 */
export class LossyLink implements AsyncDisposable {
  /** Applies to whatever is transferred from now on. */
  conditions: LinkConditions;
  /** Bytes delivered to who connected. */
  received = 0;
  /** Bytes sent by who connected. */
  sent = 0;
  /** Connections that were cut by the weather. */
  cuts = 0;
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number, weather: LinkConditions) {
    this.conditions = weather;
    this.#server = createServer((near) => {
      this.connections++;
      const far = connect(port, "127.0.0.1");
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.setNoDelay(true);
        socket.on("error", () => {});
        socket.on("close", () => this.#sockets.delete(socket));
      }
      near.on("close", () => far.destroy());
      near.on("data", (chunk) => {
        this.sent += chunk.length;
        far.write(chunk);
      });
      this.#deliver(far, near).catch(() => near.destroy());
    });
  }

  /** @param port where connections lead, on loopback */
  static async to(port: number, weather: LinkConditions = {}): Promise<LossyLink> {
    const link = new LossyLink(port, weather);
    await new Promise<void>((resolve) => {
      link.#server.listen(0, "127.0.0.1", resolve);
    });
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `127.0.0.1:PORT` of this end. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Resets all connections that stand. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #deliver(far: Socket, near: Socket): Promise<void> {
    let delivered = 0;
    for await (const chunk of far as AsyncIterable<Buffer>) {
      for (let rest = chunk; rest.length > 0;) {
        const {
          cutAfter = Infinity,
          stallAfter = Infinity,
          bytesPerSecond = Infinity,
          latencyMs = 0,
        } = this.conditions;
        if (delivered >= stallAfter) {
          await once(near, "close");
          return;
        }
        const slice = Math.max(1, Math.floor((bytesPerSecond * SLICE_MS) / 1000));
        const piece = rest.subarray(0, Math.min(slice, cutAfter - delivered, stallAfter - delivered));
        rest = rest.subarray(piece.length);
        if (latencyMs > 0) await sleep(latencyMs);
        if (near.destroyed) return;
        await written(near, piece);
        delivered += piece.length;
        this.received += piece.length;
        if (delivered >= cutAfter) {
          this.cuts++;
          near.resetAndDestroy();
          return;
        }
        if (bytesPerSecond < Infinity) await sleep((piece.length / bytesPerSecond) * 1000);
      }
    }
    near.end();
  }
}

/** Resolves when the bytes have left for the other end, or there is none any more. */
function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.write(bytes, () => resolve());
  });
}
