import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A server behind the proxy. */
export interface Backend {
  /** Its port on loopback. Asked for at each connection, since it may change with a restart. */
  readonly port: number;
}

/** One way from the proxy to a backend. */
interface Link {
  readonly backend: Backend;
  readonly sockets: Set<Socket>;
  /** Whether its last health check succeeded. */
  isReady: boolean;
  isSevered: boolean;
}

const CHECK_INTERVAL_MS = 100;
const CHECK_TIMEOUT_MS = 1_000;

/**
 * A load balancer on loopback, without stickiness: spreads TCP connections in turn over the backends whose `/readyz`
 * responds with 200, and takes the next one if a backend refuses the connection. The links to single backends can be cut.
 */
export class SpreadingProxy implements AsyncDisposable {
  readonly #links: readonly Link[];
  readonly #server: Server;
  readonly #stopped = new AbortController();
  #next = 0;
  #checks: Promise<void> = Promise.resolve();

  private constructor(backends: readonly Backend[]) {
    this.#links = backends.map((backend) => ({ backend, sockets: new Set(), isReady: false, isSevered: false }));
    // The client's first bytes wait until there is a backend for them.
    this.#server = createServer({ pauseOnConnect: true }, (near) => this.#spread(near));
  }

  /** Starts a proxy that knows which backends are ready. */
  static async to(backends: readonly Backend[]): Promise<SpreadingProxy> {
    const proxy = new SpreadingProxy(backends);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, "127.0.0.1", resolve);
    });
    await proxy.#check();
    proxy.#checks = proxy.#keepChecking();
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Open connections to each backend. */
  get connections(): number[] {
    // Each has a socket on either side.
    return this.#links.map(({ sockets }) => sockets.size / 2);
  }

  /** Whether the proxy gives connections to each backend. */
  get ready(): boolean[] {
    return this.#links.map((link) => link.isReady && !link.isSevered);
  }

  /** Resets the open connections to a backend. */
  cut(index: number): void {
    for (const socket of this.#link(index).sockets) socket.resetAndDestroy();
  }

  /** Resets the open connections to a backend, and gives it no new ones until `restore`. */
  sever(index: number): void {
    this.#link(index).isSevered = true;
    this.cut(index);
  }

  restore(index: number): void {
    this.#link(index).isSevered = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    for (const { sockets } of this.#links) for (const socket of sockets) socket.destroy();
    await Promise.all([
      this.#checks,
      new Promise((resolve) => {
        this.#server.close(resolve);
      }),
    ]);
  }

  #link(index: number): Link {
    const link = this.#links[index];
    if (!link) throw new Error(`there is no backend ${index}`);
    return link;
  }

  #spread(near: Socket): void {
    near.on("error", () => undefined);
    const first = this.#next++;
    const inTurn = this.#links.map((_, offset) => this.#link((first + offset) % this.#links.length));
    this.#connect(near, inTurn);
  }

  #connect(near: Socket, inTurn: readonly Link[]): void {
    const [link, ...others] = inTurn.filter(({ isReady, isSevered }) => isReady && !isSevered);
    if (!link) return void near.resetAndDestroy();
    const far = connect({ port: link.backend.port, host: "127.0.0.1", noDelay: true });
    const refused = (): void => this.#connect(near, others);
    far.once("error", refused);
    far.once("connect", () => {
      far.off("error", refused).on("error", () => undefined);
      if (near.destroyed) return void far.destroy();
      join(link.sockets, near, far);
      join(link.sockets, far, near);
      near.pipe(far);
      far.pipe(near);
    });
  }

  async #keepChecking(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await sleep(CHECK_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
      await this.#check();
    }
  }

  async #check(): Promise<void> {
    const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(CHECK_TIMEOUT_MS)]);
    await Promise.all(
      this.#links.map(async (link) => {
        const url = `http://127.0.0.1:${link.backend.port}/readyz`;
        link.isReady = await fetch(url, { signal }).then(
          async (response) => (await response.text(), response.ok),
          () => false,
        );
      }),
    );
  }
}

/** Closes the other side with this one, and counts it while it is open. */
function join(sockets: Set<Socket>, socket: Socket, other: Socket): void {
  sockets.add(socket);
  socket.on("close", () => {
    sockets.delete(socket);
    other.destroy();
  });
}
