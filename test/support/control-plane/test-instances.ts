import { createServer, connect, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { LinkedBus } from "../../../src/control-plane/bus/linked-bus.ts";
import { NatsLink } from "../../../src/control-plane/bus/nats/nats-link.ts";
import type { NatsOptions } from "../../../src/control-plane/bus/nats/options.ts";
import { type ConfigInput, configSchema } from "../../../src/control-plane/config/config.ts";
import { type RunningServer, startServer } from "../../../src/control-plane/server.ts";
import { PinnedImages } from "../../../src/control-plane/images/image-resolver.ts";
import { SealedLink } from "../../../src/control-plane/bus/sealed/sealed-link.ts";
import { BusKeys } from "../../../src/control-plane/sealing/bus-keys.ts";
import { AesSealer } from "../../../src/control-plane/sealing/aes-sealer.ts";
import { someSealingKey } from "./sealing-key.ts";
import { soleOperator } from "../../../src/control-plane/sim-operator/sim-operators.ts";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import type { InstanceStore } from "../../../src/control-plane/store/instances.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import type { Logger } from "../../../src/lib/logger.ts";
import { type MemoryLink, MemoryNetwork } from "../bus/memory-link.ts";
import { captureLog } from "../link/log-capture.ts";
import { memoryDir } from "../temp-dir.ts";
import { delayedStore } from "./delayed-store.ts";
import { QUICK_HASH } from "./people.ts";
import { openSqliteStore } from "./sqlite-store.ts";

/** One of several instances of the service. Clients and devices reach it through a proxy of its own. */
export class TestInstance {
  /** Without NATS. */
  readonly link: MemoryLink;
  /** What it has logged. */
  readonly lines: Record<string, unknown>[];
  readonly url: string;
  readonly agentUrl: string;
  readonly #server: RunningServer;
  readonly #proxy: TcpProxy;
  readonly #access: StoreAccess;

  constructor(
    server: RunningServer,
    proxy: TcpProxy,
    link: MemoryLink,
    access: StoreAccess,
    lines: Record<string, unknown>[],
  ) {
    this.#server = server;
    this.#proxy = proxy;
    this.#access = access;
    this.link = link;
    this.lines = lines;
    this.url = `http://127.0.0.1:${proxy.port}`;
    this.agentUrl = `ws://127.0.0.1:${proxy.port}/v1/agent`;
  }

  /** Stops it as for an update. */
  stop(): Promise<void> {
    return this.#server.stop();
  }

  /** It is gone at once, as after a crash: nothing it does reaches the store, other instances or its connections. */
  kill(): void {
    this.#access.isCut = true;
    this.link.state = "down";
    this.#proxy.close();
  }

  /** It stands still, as after SIGSTOP: its connections stay, and nothing passes through them. */
  freeze(): void {
    this.#access.isCut = true;
    this.link.state = "down";
    this.#proxy.pause();
  }

  /** The store cannot be reached from here, until it is restored. */
  cutStore(): void {
    this.#access.isCut = true;
  }

  restoreStore(): void {
    this.#access.isCut = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#proxy.close();
    await this.#server.stop();
  }
}

export interface TestInstancesOptions {
  readonly clock?: Clock;
  readonly config?: ConfigInput;
  /** Opens the store, for each instance and for the test. Default: one in SQLite, which they share. */
  readonly openStore?: () => Promise<Store>;
}

/** Several instances of the service on one store in this process, with links in memory between them. */
export class TestInstances implements AsyncDisposable {
  /** Without the faults of an instance. */
  readonly store: Store;
  readonly clock: Clock;
  readonly network = new MemoryNetwork();
  readonly #config: ConfigInput;
  readonly #sealer = new AesSealer(someSealingKey());
  readonly #owner: AsyncDisposableStack;
  readonly #openStore: (() => Promise<Store>) | undefined;

  private constructor(
    store: Store,
    { clock = systemClock, config = {}, openStore: open }: TestInstancesOptions,
    owner: AsyncDisposableStack,
  ) {
    this.store = store;
    this.clock = clock;
    this.#config = config;
    this.#owner = owner;
    this.#openStore = open;
  }

  static async open(options: TestInstancesOptions = {}): Promise<TestInstances> {
    await using owner = new AsyncDisposableStack();
    const directory = owner.use(await memoryDir());
    const path = join(directory.path, "edge-control.sqlite");
    const store = owner.use(await (options.openStore?.() ?? openSqliteStore(path)));
    return new TestInstances(store, options, owner.move());
  }

  /** Starts one more. */
  async start({ clock = this.clock, nats, isSealed = true }: StartOptions = {}): Promise<TestInstance> {
    const access: StoreAccess = { isCut: false };
    const { logger, lines } = captureLog();
    const memoryLink = this.network.join();
    const own = this.#openStore ? this.#owner.use(await this.#openStore()) : this.store;
    const store = sharedStore(own, access, this.clock);
    const natsLink = nats && this.#owner.use(new NatsLink({ nats, clock: systemClock, logger }));
    const link = natsLink && isSealed ? await this.#seal(natsLink, store, logger) : (natsLink ?? memoryLink);
    const server = await startServer({
      config: configSchema.parse({ rate_limit_per_minute: 1_000_000, listen: "127.0.0.1:0", ...this.#config }),
      store,
      bus: this.#owner.use(new LinkedBus(link)),
      link,
      simOperators: soleOperator(new StoredSimOperator(store.usage)),
      sealer: this.#sealer,
      images: new PinnedImages(),
      clock,
      logger,
      passwordAlgorithm: QUICK_HASH,
    });
    const instance = new TestInstance(server, await TcpProxy.open(server.port), memoryLink, access, lines);
    return this.#owner.use(instance);
  }

  async #seal(link: NatsLink, store: Store, logger: Logger): Promise<SealedLink> {
    const clock = systemClock;
    const keys = this.#owner.use(await BusKeys.open({ store, sealer: this.#sealer, clock, logger }));
    return this.#owner.use(new SealedLink({ link, keys, clock, logger }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owner.disposeAsync();
  }
}

/** What differs for one instance. */
interface StartOptions {
  readonly clock?: Clock;
  readonly nats?: NatsOptions;
  /** Whether what NATS carries is sealed, as it always is. */
  readonly isSealed?: boolean;
}

interface StoreAccess {
  isCut: boolean;
}

/** @param clock of the database */
function sharedStore(store: Store, access: StoreAccess, clock: Clock): Store {
  const throwIfCut = async (): Promise<void> => {
    if (access.isCut) throw new Error("the store cannot be reached");
  };
  const faulty = delayedStore(store, throwIfCut);
  const instances: InstanceStore = new Proxy(faulty.instances, {
    get: (target, name): unknown =>
      name === "readTime"
        ? async () => ({ ...(await target.readTime()), nowMs: clock.now() })
        : Reflect.get(target, name),
  });
  return new Proxy(faulty, {
    get: (target, name): unknown => {
      if (name === "isShared") return true;
      return name === "instances" ? instances : Reflect.get(target, name);
    },
  });
}

/** Passes connections on, until it is closed with all of them. */
class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const upstream = connect(port, "127.0.0.1");
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on("error", () => socket.destroy());
        socket.on("close", () => {
          this.#sockets.delete(socket);
          // What has arrived is still passed on.
          (socket === client ? upstream : client).end();
        });
      }
      client.pipe(upstream).pipe(client);
    });
  }

  static async open(port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(port);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, "127.0.0.1", resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Passes nothing on any more. */
  pause(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
