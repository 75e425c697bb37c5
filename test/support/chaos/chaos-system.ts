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

/** How soon the control plane of a world takes a device for not reachable, in seconds. */
const ACK_TIMEOUT_S = 4;
/** How long a deployment may take in a world, in seconds. */
const DEPLOYMENT_TIMEOUT_S = 60;

interface WorldOptions {
  /** Keys of the agent's configuration file; the rest fits tests. */
  readonly agentConfig?: AgentConfig;
  /** Where the agent keeps its configuration and state. The caller removes it. Default: a directory of its own. */
  readonly deviceDirectory?: string;
}

/**
 * Both executables as real processes with everything between them, and between agent and engine, in the hands of the
 * test. Disposing it ends them and removes what they made.
 */
export class ChaosSystem implements AsyncDisposable {
  /** Names of its apps begin so. */
  readonly prefix: string;
  readonly control: ControlProcess;
  readonly agent: AgentProcess;
  readonly link: FrameRelay;
  /** What the agent takes for the engine. */
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

  /** Starts one and waits until its device is online. Only one world may use an engine at a time. */
  static async start(
    engineSocket: string,
    { agentConfig = {}, deviceDirectory }: WorldOptions = {},
  ): Promise<ChaosSystem> {
    await using owned = new AsyncDisposableStack();
    const { path: directory } = owned.use(await tempDir());
    const prefix = uniqueName("");
    owned.defer(() => removeContainers(engineSocket, prefix));
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

  /** A name for an app, another one each time. */
  name(): string {
    return `${this.prefix}app${++this.#names}`;
  }

  /** Asks for a deployment or a change and follows it, whatever it takes. */
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

  /** Reads from the service's API. */
  async get(path: string): Promise<Response> {
    return fetch(`${this.assetUrl}${path}`, { headers: { "X-API-Key": this.#account.apiKey } });
  }

  get assetUrl(): string {
    return `${this.control.url}/v1/assets/${this.#asset.uuid}`;
  }

  /** Takes every fault back and has both sides running. */
  async clearFaults(): Promise<void> {
    this.proxy.intercept();
    this.link.decide = () => "pass";
    this.link.onFrame = () => {};
    this.link.resume();
    if (!this.control.isRunning) await this.control.start();
    if (!this.agent.isRunning) this.agent.launch();
    await this.agent.waitForLog("online", ({ msg }) => msg.startsWith("online"), 60_000);
  }

  /** What each side wrote last, for whoever wants to know why something went wrong. */
  tail(): string {
    return `--- edge-agent\n${this.agent.tail()}\n--- edge-control\n${this.control.tail()}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}
