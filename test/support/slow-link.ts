import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { pipeline, Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

const SLICE_MS = 20;

/** A TCP relay to a loopback port that limits the rate of each connection. */
export class SlowLink implements AsyncDisposable {
  /** Rate of each connection and direction. May be changed at any time; `Infinity` for no limit. */
  bytesPerSecond: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number, bytesPerSecond: number, slow: "answers" | "both") {
    this.bytesPerSecond = bytesPerSecond;
    const rate = (): number => this.bytesPerSecond;
    this.#server = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => this.#sockets.delete(socket));
      }
      near.on("close", () => far.destroy());
      if (slow === "both") pipeline(near, throttle(rate), far, () => {});
      else near.pipe(far);
      // Data that the far end sent before it closed is still delivered.
      pipeline(far, throttle(rate), near, () => {});
    });
  }

  /** @param slow whether to limit only the responses, or both directions */
  static async to(port: number, bytesPerSecond: number, slow: "answers" | "both" = "answers"): Promise<SlowLink> {
    const link = new SlowLink(port, bytesPerSecond, slow);
    await new Promise<void>((resolve) => {
      link.#server.listen(0, "127.0.0.1", resolve);
    });
    return link;
  }

  /** `127.0.0.1:PORT` of the relay. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resets all connections and accepts no new ones. */
  cut(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#server.listening && once(this.#server, "close");
    this.cut();
    await closed;
  }
}

function throttle(bytesPerSecond: () => number): Transform {
  return new Transform({
    async transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length;) {
        const slice = Math.max(1, Math.floor((bytesPerSecond() * SLICE_MS) / 1000));
        this.push(chunk.subarray(at, at + slice));
        at += slice;
        if (bytesPerSecond() !== Infinity) await sleep(SLICE_MS);
      }
      done();
    },
  });
}
