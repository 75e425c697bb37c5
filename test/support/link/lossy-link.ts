import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { unreadBytes } from "./unread-bytes.ts";

/** Faults in the response direction of each connection. Bytes are counted from the connection's beginning. */
export interface LinkConditions {
  /** Resets the connection after this many bytes. */
  readonly cutAfter?: number;
  /** Silently stops delivering after this many bytes. */
  readonly stallAfter?: number;
  /** Stands still, on all connections, once the link has delivered this many bytes in all, until the conditions change. */
  readonly holdAt?: number;
  readonly bytesPerSecond?: number;
  /** Additional delay of each chunk in milliseconds. */
  readonly latencyMs?: number;
}

const SLICE_MS = 20;
/**
 * Bytes that a link with a rate holds. The loopback interface takes megabytes for a receiver that gets no time, and all of them
 * are lost when it is killed.
 */
const MAX_IN_FLIGHT = 64 * 1024;

/**
 * A TCP relay to a loopback port that behaves like a cellular modem. Counts the delivered bytes, including those in
 * flight when a connection was cut, as a metered link bills them.
 */
export class LossyLink implements AsyncDisposable {
  /** Applies to everything transferred from now on. */
  conditions: LinkConditions;
  /** Bytes delivered to clients. */
  received = 0;
  /** Bytes sent by clients. */
  sent = 0;
  /** Number of connections reset by `LinkConditions`. */
  cuts = 0;
  connections = 0;
  /** Called after each of these cuts. */
  onCut: () => void = () => {};
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

  /** @param port target port on loopback */
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

  /** `127.0.0.1:PORT` of the relay. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Resets all connections. */
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
        await this.#flowing(near);
        const {
          cutAfter = Infinity,
          stallAfter = Infinity,
          holdAt = Infinity,
          bytesPerSecond = Infinity,
          latencyMs = 0,
        } = this.conditions;
        if (delivered >= stallAfter) {
          await once(near, "close");
          return;
        }
        const slice = Math.min(MAX_IN_FLIGHT, Math.max(1, Math.floor((bytesPerSecond * SLICE_MS) / 1000)));
        const piece = rest.subarray(
          0,
          Math.min(slice, cutAfter - delivered, stallAfter - delivered, holdAt - this.received),
        );
        rest = rest.subarray(piece.length);
        if (latencyMs > 0) await sleep(latencyMs);
        if (near.destroyed) return;
        await written(near, piece);
        delivered += piece.length;
        this.received += piece.length;
        if (delivered >= cutAfter) {
          this.cuts++;
          // A reset discards what has arrived and was not read, which the loss of a radio link does not.
          await read(near, 0);
          near.resetAndDestroy();
          this.onCut();
          return;
        }
        if (bytesPerSecond === Infinity) continue;
        await sleep((piece.length / bytesPerSecond) * 1000);
        await read(near, MAX_IN_FLIGHT);
      }
    }
    near.end();
  }

  async #flowing(near: Socket): Promise<void> {
    while (!near.destroyed && this.received >= (this.conditions.holdAt ?? Infinity)) await sleep(1);
  }
}

/** Resolves when the bytes are written or the socket is closed. */
function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.write(bytes, () => resolve());
  });
}

/** Resolves when the other end has read all but this many bytes, or the socket is closed. */
async function read(socket: Socket, unread: number): Promise<void> {
  while (!socket.destroyed && (await unreadBytes(socket)) > unread) await sleep(1);
}
