import { join } from "node:path";
import { NatsServer } from "../bus/nats-server.ts";
import { SpreadingProxy } from "../link/spreading-proxy.ts";
import { PostgresServer } from "../postgres.ts";
import { tempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import { ClusterInstance, type ControlSettings } from "./cluster-instance.ts";
import type { Account, Asset } from "./control.ts";

interface ClusterOptions {
  /** Default 2. */
  readonly instances?: number;
  /** Settings of every instance. */
  readonly settings?: ControlSettings;
}

/**
 * Several edge-control as real processes on one PostgreSQL and one NATS, behind a proxy that spreads connections. All on
 * ports and in directories of its own. Disposing it stops them and removes what they made.
 */
export class Cluster implements AsyncDisposable {
  readonly postgres: PostgresServer;
  /** Name of its database on the server. */
  readonly databaseName: string;
  readonly nats: NatsServer;
  readonly instances: readonly ClusterInstance[];
  /** What devices and clients connect to. Its backends have the order of `instances`. */
  readonly proxy: SpreadingProxy;
  /** A directory for the test's files; removed with the cluster. */
  readonly directory: string;
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: ClusterParts, owned: AsyncDisposableStack) {
    this.postgres = parts.postgres;
    this.databaseName = parts.databaseName;
    this.nats = parts.nats;
    this.instances = parts.instances;
    this.proxy = parts.proxy;
    this.directory = parts.directory;
    this.#owned = owned;
  }

  /** Starts everything on a new database and waits until every instance is ready. Needs the executables in dist/. */
  static async start({ instances: count = 2, settings = {} }: ClusterOptions = {}): Promise<Cluster> {
    await using owned = new AsyncDisposableStack();
    const { path: directory } = owned.use(await tempDir());
    const postgres = owned.use(await PostgresServer.start());
    const databaseName = await postgres.createDatabase();
    const nats = owned.use(await NatsServer.start());
    const instances: ClusterInstance[] = [];
    for (let index = 0; index < count; index++) {
      const own = { directory: join(directory, `instance-${index}`), settings };
      const shared = { databasePort: postgres.port, databaseName, natsPort: nats.port };
      instances.push(owned.use(await ClusterInstance.create({ ...own, ...shared })));
    }
    await instances[0]?.migrate();
    await Promise.all(instances.map((instance) => instance.start()));
    const proxy = owned.use(await SpreadingProxy.to(instances));
    await waitFor("every instance to be ready", () => proxy.ready.every(Boolean));
    return new Cluster({ postgres, databaseName, nats, instances, proxy, directory }, owned.move());
  }

  /** Address of the API for clients. */
  get url(): string {
    return this.proxy.url;
  }

  /** Address for devices. */
  get agentUrl(): string {
    return `ws://127.0.0.1:${this.proxy.port}/v1/agent`;
  }

  instance(index: number): ClusterInstance {
    const instance = this.instances[index];
    if (!instance) throw new Error(`there is no instance ${index}`);
    return instance;
  }

  createAccount(name: string): Promise<Account> {
    return this.instance(0).createAccount(name);
  }

  addAsset(accountId: string, serialNumber: string): Promise<Asset> {
    return this.instance(0).addAsset(accountId, serialNumber);
  }

  /** Index of the running instance that the device is connected to, by what the instances have logged. */
  async holderOf({ uuid }: Asset): Promise<number> {
    const isHolder = (instance: ClusterInstance): boolean =>
      instance.isRunning &&
      instance.log().findLast(({ asset, msg }) => asset === uuid && /^device (?:online|offline)$/.test(msg))?.msg ===
        "device online";
    return await waitFor(`an instance to have the device ${uuid}`, () => {
      const holders = this.instances.flatMap((instance, index) => (isHolder(instance) ? [index] : []));
      return holders.length === 1 ? `${holders[0]}` : false;
    }).then(Number);
  }

  /** Stops an instance as a service manager does, and starts it again when it has ended. Resolves when it is ready. */
  async replace(index: number): Promise<void> {
    const instance = this.instance(index);
    const code = await instance.stop();
    if (code !== 0) throw new Error(`instance ${index} ended with ${code}\n${instance.tail()}`);
    await instance.start();
    await waitFor(`instance ${index} to be ready`, () => this.proxy.ready[index] === true);
  }

  /** The last output of every instance, to diagnose a failed test. */
  tail(): string {
    return this.instances.map((instance, index) => `instance ${index}\n${instance.tail()}`).join("\n");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

interface ClusterParts {
  readonly postgres: PostgresServer;
  readonly databaseName: string;
  readonly nats: NatsServer;
  readonly instances: readonly ClusterInstance[];
  readonly proxy: SpreadingProxy;
  readonly directory: string;
}
