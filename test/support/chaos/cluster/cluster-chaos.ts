import { join } from "node:path";
import { uniqueName } from "../../images.ts";
import { TcpRelay } from "../../link/tcp-relay.ts";
import { AgentProcess } from "../../system/agent.ts";
import { Cluster } from "../../system/cluster.ts";
import type { Account, Asset } from "../../system/control.ts";
import { removeContainers } from "../../system/engine-containers.ts";
import { waitFor } from "../../wait-for.ts";
import { RetryingClient } from "../client.ts";
import { FrameRelay } from "../frame-relay.ts";
import type { Request } from "../request.ts";
import { SeededRandom } from "../seeded-random.ts";
import { History } from "./history.ts";
import { Instances } from "./instances.ts";
import { ModelDevice } from "./model-device.ts";

const MODELS = 6;
/** Of every instance: seconds to acknowledge a deployment, and for all of it. */
const SETTINGS = { ack_timeout_s: 4, deployment_timeout_s: 60, stop_delay_s: 1 };

/** A device without an engine, its link, and what was asked of it. */
export interface ModelSite {
  readonly asset: Asset;
  readonly device: ModelDevice;
  readonly link: TcpRelay;
  readonly clients: RetryingClient[];
}

interface RequestOptions {
  readonly waitForDeviceS?: number;
}

/** Several instances on one PostgreSQL and one NATS, an agent with an engine, and more devices without. */
export class ClusterChaos implements AsyncDisposable {
  /** Prefix of its apps' names. */
  readonly prefix: string;
  readonly cluster: Cluster;
  readonly instances: Instances;
  readonly agent: AgentProcess;
  /** The agent's link. */
  readonly link: FrameRelay;
  readonly engineSocket: string;
  /** Clients of the agent's asset. */
  readonly clients: RetryingClient[] = [];
  readonly sites: readonly ModelSite[];
  /** Second clients with the same `Idempotency-Key`, by the first ones. */
  readonly repeated = new Map<RetryingClient, RetryingClient>();
  /** Clients whose streams were compared with the record. */
  readonly checked = new Set<RetryingClient>();
  readonly history: History;
  readonly #account: Account;
  readonly #asset: Asset;
  readonly #owned: AsyncDisposableStack;
  /** What a fault works on at the moment. */
  readonly #claimed = new Set<string>();
  readonly #keys = new Map<RetryingClient, string>();
  #names = 0;

  private constructor(parts: Parts, owned: AsyncDisposableStack) {
    this.prefix = parts.prefix;
    this.cluster = parts.cluster;
    this.instances = new Instances(parts.cluster);
    this.agent = parts.agent;
    this.link = parts.link;
    this.engineSocket = parts.engineSocket;
    this.sites = parts.sites;
    this.history = new History();
    this.#account = parts.account;
    this.#asset = parts.asset;
    this.#owned = owned;
  }

  /** Starts everything and waits until the devices are connected. Only one may use an engine at a time. */
  static async start(engineSocket: string, seed: number, instances: number): Promise<ClusterChaos> {
    await using owned = new AsyncDisposableStack();
    const prefix = uniqueName("");
    const cluster = owned.use(await Cluster.start({ instances, settings: SETTINGS }));
    owned.defer(() => removeContainers(engineSocket, prefix, cluster.directory));
    const account = await cluster.createAccount(prefix);
    const asset = await cluster.addAsset(account.accountId, `${prefix}gw`);
    const link = owned.use(await FrameRelay.to(() => cluster.proxy.port));
    const agent = owned.use(
      new AgentProcess({
        directory: join(cluster.directory, "device"),
        deviceToken: asset.deviceToken,
        controlPlaneUrl: () => `ws://127.0.0.1:${link.port}/v1/agent`,
        engineSocket,
        config: {
          link: { keepalive_s: 10, keepalive_max_s: 10, pong_timeout_s: 1, reconnect_max_s: 1 },
          deploy: { settle_window_s: 0.5, health_timeout_s: 4, engine_patience_s: 20, disk_reserve_bytes: 0 },
        },
      }),
    );
    await agent.start();
    const sites: ModelSite[] = [];
    for (let index = 0; index < MODELS; index++) {
      sites.push(await startSite(cluster, account, `${prefix}model${index}`, new SeededRandom(seed + index), owned));
    }
    const parts = { prefix, cluster, agent, link, engineSocket, sites, account, asset };
    const system = new ClusterChaos(parts, owned.move());
    await system.#connected();
    return system;
  }

  /** Every client, in the order of the requests of each device. */
  get allClients(): RetryingClient[] {
    return [this.clients, ...this.sites.map(({ clients }) => clients)].flat();
  }

  /** Returns a new app name with each call. */
  name(): string {
    return `${this.prefix}app${++this.#names}`;
  }

  /** Requests a deployment of a model, or of the agent, and follows it, with retries. */
  request(request: Request, site?: ModelSite, options: RequestOptions = {}): RetryingClient {
    const idempotencyKey = `${this.prefix}${this.#keys.size}`;
    const client = this.#follow(request, site, idempotencyKey, options);
    this.#keys.set(client, idempotencyKey);
    (site?.clients ?? this.clients).push(client);
    return client;
  }

  /** Sends the request again with the same `Idempotency-Key`, as a client that has forgotten its first one. */
  repeat(client: RetryingClient, site: ModelSite | undefined, options: RequestOptions): void {
    if (this.repeated.has(client)) return;
    this.repeated.set(client, this.#follow(client.request, site, this.#keys.get(client) ?? "", options));
  }

  /** Runs the work on the target, unless another fault works on it. Returns whether it ran. */
  async claim(target: string, work: () => Promise<void>): Promise<boolean> {
    if (this.#claimed.has(target)) return false;
    this.#claimed.add(target);
    try {
      await work();
    } finally {
      this.#claimed.delete(target);
    }
    return true;
  }

  /** Starts what is down, and waits until every instance is ready and every device connected. */
  async recover(): Promise<void> {
    this.link.decide = () => "pass";
    this.link.onFrame = () => {};
    this.link.resume();
    for (let index = 0; index < this.instances.count; index++) await this.instances.start(index);
    if (!this.agent.isRunning) this.agent.launch();
    await waitFor("every instance to be ready", () => this.cluster.proxy.ready.every(Boolean));
    await this.#connected();
  }

  /** The last output of each process, to diagnose a failure. */
  tail(): string {
    return `--- edge-agent\n${this.agent.tail()}\n--- edge-control\n${this.cluster.tail()}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  async #connected(): Promise<void> {
    await this.agent.waitForLog("online", ({ msg }) => msg.startsWith("online"));
    const isConnected = (): boolean => this.sites.every(({ device }) => device.isConnected);
    await waitFor("every model to be connected", isConnected);
  }

  #follow(
    request: Request,
    site: ModelSite | undefined,
    idempotencyKey: string,
    options: RequestOptions,
  ): RetryingClient {
    const assetUrl = `${this.cluster.url}/v1/assets/${(site?.asset ?? this.#asset).uuid}`;
    const { apiKey } = this.#account;
    return this.#owned.use(new RetryingClient({ assetUrl, apiKey, idempotencyKey, request, ...options }));
  }
}

interface Parts extends Pick<ClusterChaos, "prefix" | "cluster" | "agent" | "link" | "engineSocket" | "sites"> {
  readonly account: Account;
  readonly asset: Asset;
}

async function startSite(
  cluster: Cluster,
  { accountId }: Account,
  serialNumber: string,
  random: SeededRandom,
  owned: AsyncDisposableStack,
): Promise<ModelSite> {
  const asset = await cluster.addAsset(accountId, serialNumber);
  const link = owned.use(await TcpRelay.to(cluster.proxy.port));
  const url = `ws://127.0.0.1:${link.port}/v1/agent`;
  const device = owned.use(new ModelDevice({ url, deviceToken: asset.deviceToken, random }));
  return { asset, device, link, clients: [] };
}
