import { join } from "node:path";
import { type AgentConfig, AgentProcess } from "../system/agent.ts";
import { type Account, type Asset, ControlProcess } from "../system/control.ts";
import { removeContainers } from "../system/engine-containers.ts";
import { uniqueName } from "../images.ts";
import { tempDir } from "../temp-dir.ts";
import { RetryingClient } from "./client.ts";
import { EngineProxy } from "./engine-proxy.ts";
import { FrameRelay } from "./frame-relay.ts";
import type { Request } from "./request.ts";

/** Seconds after which the control plane considers a device unreachable. */
const ACK_TIMEOUT_S = 4;
/** Maximum duration of a deployment, in seconds. */
const DEPLOYMENT_TIMEOUT_S = 60;

interface ChaosSystemOptions {
  /** Keys of the agent's configuration file, over the defaults for tests. */
  readonly agentConfig?: AgentConfig;
  /** Directory of the agent's configuration and state. The caller removes it. Default: a temporary directory. */
  readonly deviceDirectory?: string;
}

/**
 * Both executables as real processes. The test controls the traffic between them and between agent and engine.
 * Disposing it stops them and removes what they made.
 */
export class ChaosSystem implements AsyncDisposable {
  /** Prefix of its apps' names. */
  readonly prefix: string;
  readonly control: ControlProcess;
  readonly agent: AgentProcess;
  readonly link: FrameRelay;
  /** The engine's socket as the agent sees it. */
  readonly proxy: EngineProxy;
  /** The engine itself. */
  readonly engineSocket: string;
  readonly clients: RetryingClient[] = [];
  readonly #account: Account;
  readonly #asset: Asset;
  readonly #owned: AsyncDisposableStack;
  #names = 0;

  private constructor(
    parts: Pick<ChaosSystem, "prefix" | "control" | "agent" | "link" | "proxy" | "engineSocket">,
    account: Account,
    asset: Asset,
    owned: AsyncDisposableStack,
  ) {
    this.prefix = parts.prefix;
    this.control = parts.control;
    this.agent = parts.agent;
    this.link = parts.link;
    this.proxy = parts.proxy;
    this.engineSocket = parts.engineSocket;
    this.#account = account;
    this.#asset = asset;
    this.#owned = owned;
  }

  /** Starts a system and waits until its device is online. Only one may use an engine at a time. */
  static async start(
    engineSocket: string,
    { agentConfig = {}, deviceDirectory }: ChaosSystemOptions = {},
  ): Promise<ChaosSystem> {
    await using owned = new AsyncDisposableStack();
    const { path: directory } = owned.use(await tempDir());
    const prefix = uniqueName("");
    owned.defer(() => removeContainers(engineSocket, prefix, directory));
    const flags = ["--ack-timeout-s", `${ACK_TIMEOUT_S}`, "--deployment-timeout-s", `${DEPLOYMENT_TIMEOUT_S}`];
    const control = owned.use(new ControlProcess(join(directory, "control"), flags));
    await control.start();
    const account = await control.createAccount(prefix);
    const asset = await control.addAsset(account.accountId, `${prefix}gw`);
    const link = owned.use(await FrameRelay.to(() => control.port));
    const proxy = owned.use(await EngineProxy.to(engineSocket));
    const agent = owned.use(
      new AgentProcess({
        directory: deviceDirectory ?? join(directory, "device"),
        deviceToken: asset.deviceToken,
        controlPlaneUrl: () => `ws://127.0.0.1:${link.port}/v1/agent`,
        engineSocket: proxy.socketPath,
        config: {
          ...agentConfig,
          link: { keepalive_s: 10, keepalive_max_s: 10, pong_timeout_s: 1, reconnect_max_s: 1, ...agentConfig.link },
          deploy: {
            settle_window_s: 0.5,
            health_timeout_s: 4,
            engine_patience_s: 20,
            disk_reserve_bytes: 0,
            ...agentConfig.deploy,
          },
        },
      }),
    );
    await agent.start();
    return new ChaosSystem({ prefix, control, agent, link, proxy, engineSocket }, account, asset, owned.move());
  }

  /** Returns a new app name with each call. */
  name(): string {
    return `${this.prefix}app${++this.#names}`;
  }

  /** Requests a deployment or a change and follows it, with retries. */
  request(request: Request): RetryingClient {
    const client = new RetryingClient({
      assetUrl: this.assetUrl,
      apiKey: this.#account.apiKey,
      idempotencyKey: `${this.prefix}${this.clients.length}`,
      request,
    });
    this.#owned.use(client);
    this.clients.push(client);
    return client;
  }

  get assetUrl(): string {
    return `${this.control.url}/v1/assets/${this.#asset.uuid}`;
  }

  /** Clears every fault and starts the processes that are down. */
  async clearFaults(): Promise<void> {
    this.proxy.intercept();
    this.link.decide = () => "pass";
    this.link.onFrame = () => {};
    this.link.resume();
    if (!this.control.isRunning) await this.control.start();
    if (!this.agent.isRunning) this.agent.launch();
    await this.agent.waitForLog("online", ({ msg }) => msg.startsWith("online"));
  }

  /** The last output of each process, to diagnose a failure. */
  tail(): string {
    return `--- edge-agent\n${this.agent.tail()}\n--- edge-control\n${this.control.tail()}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}
