import type { DeploymentEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import { type ApiClient, apiClient } from "../api-client.ts";
import { type EventStream, openStream } from "../event-stream.ts";
import { TcpRelay } from "../link/tcp-relay.ts";
import { tlsFront } from "../link/tls-front.ts";
import { Registry } from "../registry.ts";
import { type Account, type Asset, ControlProcess } from "../system/control.ts";
import { deployTo } from "../system/deploy-to.ts";
import { tempDir } from "../temp-dir.ts";

/** The servers a device uses: a control plane with TLS and a registry without, both at one address. */
export class TestBackend implements AsyncDisposable {
  /** Address of the control plane for agents. */
  readonly agentUrl: string;
  /** File with the certificate authority of the control plane. */
  readonly caFile: string;
  /** `host:port` of the registry for devices. */
  readonly registryHost: string;
  readonly registry: Registry;
  readonly control: ControlProcess;
  readonly #account: Account;
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: Parts, owned: AsyncDisposableStack) {
    this.agentUrl = parts.agentUrl;
    this.caFile = parts.caFile;
    this.registryHost = parts.registryHost;
    this.registry = parts.registry;
    this.control = parts.control;
    this.#account = parts.account;
    this.#owned = owned;
  }

  /**
   * @param host this machine's address in the devices' network
   * @param name of the control plane that its certificate is also for
   */
  static async start(host: string, name?: string): Promise<TestBackend> {
    await using owned = new AsyncDisposableStack();
    const { path } = owned.use(await tempDir());
    const control = owned.use(new ControlProcess(path, []));
    await control.start();
    const account = await control.createAccount("site");
    const front = owned.use(await tlsFront(path, host, control.url, name === undefined ? "" : `,DNS:${name}`));
    const registry = owned.use(await Registry.start());
    const relay = owned.use(await TcpRelay.to(registry.port, host));
    const agentUrl = `wss://${name ?? host}:${front.port}/v1/agent`;
    const registryHost = `${host}:${relay.port}`;
    return new TestBackend({ agentUrl, caFile: front.caFile, registryHost, registry, control, account }, owned.move());
  }

  get accountId(): string {
    return this.#account.accountId;
  }

  /** A key of the account with the role admin. */
  get apiKey(): string {
    return this.#account.apiKey;
  }

  /** Address of the control plane for people. */
  get url(): string {
    return this.agentUrl.replace("wss:", "https:").replace("/v1/agent", "");
  }

  /** A new asset, for one device. */
  async asset(serialNumber: string): Promise<Asset> {
    return await this.control.addAsset(this.#account.accountId, serialNumber);
  }

  /** A new enrolment code of the asset, as the command line prints it. */
  async enrolmentCode({ serialNumber }: Asset): Promise<Record<string, string>> {
    const options = ["--account", this.#account.accountId, "--asset", serialNumber, "--valid", "1h"];
    return await this.control.administer("asset", "enrolment-code", ...options);
  }

  /** Deploys an app to the asset's device and returns the final event. */
  async deploy(asset: Asset, spec: Parameters<typeof deployTo>[3]): Promise<DeploymentEvent> {
    return await deployTo(this.control, this.#account, asset, spec);
  }

  /** Asks for another version of the agent of the asset's device and returns the stream of events. */
  async updateAgent({ uuid }: Asset, body: object): Promise<EventStream> {
    return await openStream(`${this.control.url}/v1/assets/${uuid}/edge/agent`, {
      method: "POST",
      apiKey: this.#account.apiKey,
      body,
    });
  }

  /** The API with the account's key. */
  get api(): ApiClient {
    return apiClient(this.control, this.#account);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

interface Parts {
  readonly agentUrl: string;
  readonly caFile: string;
  readonly registryHost: string;
  readonly registry: Registry;
  readonly control: ControlProcess;
  readonly account: Account;
}
