import type { z } from "zod";
import { LABELS } from "../../src/agent/core/app/container.ts";
import type { deployRequestSchema } from "../../src/protocol/apps/deploy-request.ts";
import { type DeploymentEvent, isFinal } from "../../src/protocol/deployments/deployment-event.ts";
import { dockerSocket } from "./docker-socket.ts";
import { type EventStream, openStream, type StreamRequest } from "./event-stream.ts";
import { engineRequest, type Image, loadImage, removeImage, uniqueName } from "./images.ts";
import { TcpRelay } from "./link/tcp-relay.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "./private-engine.ts";
import { type AgentConfig, AgentProcess } from "./system/agent.ts";
import { type Account, type Asset, ControlProcess } from "./system/control.ts";
import { copyPreparedAccount } from "./system/prepared-account.ts";
import {
  type ContainerInspection,
  type ListedContainer,
  listContainers,
  removeContainers,
  removeVolumes,
} from "./system/engine-containers.ts";
import { tempDir } from "./temp-dir.ts";
import { waitFor } from "./wait-for.ts";

/** A deployment request as a client writes it. */
export type AppRequest = z.input<typeof deployRequestSchema>;

export interface SystemOptions {
  /** Keys of the agent's configuration file, over the defaults for tests. */
  readonly agentConfig?: AgentConfig;
  /** Further options of `edge-control serve`. */
  readonly controlFlags?: readonly string[];
  /**
   * The engine the agent uses, such as a `PodmanService`; the caller disposes it after the system, with all that is in it.
   * Default: a private Docker, or the machine's if none can be started. Privileged apps need a runtime that the machine's
   * engine may not have, and tests stop and break the engine.
   */
  readonly engine?: { readonly socketPath: string };
  /** A command that runs another one; the agent is started through it. */
  readonly agentWrapper?: readonly string[];
  /** Returns the port of a link to the service's port, such as a slow one; the caller disposes it after the system. */
  readonly linkTo?: (controlPort: number) => Promise<number>;
}

/** `query` includes its question mark. */
type OpenOptions = Omit<StreamRequest, "body"> & { readonly asset?: string; readonly query?: string };

/** A deployment's stream after its end. */
export interface Deployed {
  readonly status: number;
  readonly headers: EventStream["headers"];
  readonly events: readonly DeploymentEvent[];
  /** The last event: `Success` or `Fail`. */
  readonly final: DeploymentEvent;
  readonly deploymentId: string;
}

/** Maximum duration of a deployment in a test. */
const DEPLOYMENT_MS = 240_000;

/**
 * Both executables as real processes, with one account, one asset, and its device online. Disposing it stops them and
 * removes what they made in the machine's engine: containers whose app or name begins with `prefix`, volumes likewise,
 * images.
 */
export class System implements AsyncDisposable {
  /** Prefix of the names of this system's apps, containers and images. */
  readonly prefix: string;
  readonly control: ControlProcess;
  readonly agent: AgentProcess;
  readonly account: Account;
  readonly asset: Asset;
  /** Relays the agent's link to the control plane. */
  readonly link: TcpRelay;
  readonly engineSocket: string;
  /** A directory for the test's files; removed with the system. */
  readonly directory: string;
  readonly #owned: AsyncDisposableStack;
  /** Whether the engine is the machine's, which outlives the system. */
  readonly #isMachines: boolean;
  #names = 0;

  private constructor(parts: SystemParts, owned: AsyncDisposableStack) {
    this.prefix = parts.prefix;
    this.control = parts.control;
    this.agent = parts.agent;
    this.account = parts.account;
    this.asset = parts.asset;
    this.link = parts.link;
    this.engineSocket = parts.engineSocket;
    this.directory = parts.directory;
    this.#isMachines = parts.isMachines;
    this.#owned = owned;
  }

  /** Starts a system and waits until its device is online. Needs the executables in dist/. */
  static async start(options: SystemOptions = {}): Promise<System> {
    await using owned = new AsyncDisposableStack();
    const { path: directory } = owned.use(await tempDir());
    const prefix = uniqueName("");
    const control = owned.use(new ControlProcess(directory, options.controlFlags ?? []));
    const { account, asset } = await copyPreparedAccount(control.dataDir);
    const found = options.engine ? Promise.resolve(options.engine) : ownEngine(owned);
    const starting = [found, control.start()] as const;
    // Waits for both also if one fails, so that neither starts after the other was disposed.
    await Promise.allSettled(starting);
    const [engine] = await Promise.all(starting);
    const { socketPath: engineSocket } = engine;
    const link = owned.use(await TcpRelay.to((await options.linkTo?.(control.port)) ?? control.port));
    const isMachines = engineSocket === (await dockerSocket());
    if (isMachines) {
      owned.defer(() => removeVolumes(engineSocket, prefix));
      owned.defer(() => removeContainers(engineSocket, prefix, directory));
    }
    const agent = owned.use(
      new AgentProcess({
        directory,
        deviceToken: asset.deviceToken,
        controlPlaneUrl: () => `ws://127.0.0.1:${link.port}/v1/agent`,
        engineSocket,
        config: options.agentConfig ?? {},
        ...(options.agentWrapper && { wrapper: options.agentWrapper }),
      }),
    );
    await agent.start();
    const parts = { prefix, control, agent, account, asset, link, engineSocket, isMachines, directory };
    return new System(parts, owned.move());
  }

  /** Waits until the device is connected to the service, such as after a restart of the service. */
  async untilOnline(): Promise<void> {
    const isOnline = (): boolean => {
      const lines = this.control.log().filter(({ asset }) => asset === this.asset.uuid);
      return lines.findLast(({ msg }) => /^device (?:online|offline)$/.test(msg))?.msg === "device online";
    };
    await waitFor("the device to be online", isOnline);
  }

  /** Number of the device's sessions so far. After a cut, the last log line may still be of the previous session. */
  countSessions(): number {
    return this.control.log().filter(({ asset, msg }) => asset === this.asset.uuid && msg === "device online").length;
  }

  /** Returns a new app name with each call. */
  name(label: string = "app"): string {
    return `${this.prefix}${label}${++this.#names}`;
  }

  /** Loads an image into the engine and returns its reference. */
  async load(image: Image, label: string = "image"): Promise<string> {
    const { reference } = await loadImage(this.engineSocket, image, label);
    return this.removeImageLater(reference);
  }

  /** Removes an image that the agent will pull when the system is disposed. Returns its reference. */
  removeImageLater(reference: string): string {
    if (this.#isMachines) this.#owned.defer(() => removeImage(this.engineSocket, reference));
    return reference;
  }

  /** Requests a deployment. Resolves when the response's headers have arrived. `spec` may be invalid. */
  open(spec: unknown, options: OpenOptions = {}): Promise<EventStream> {
    const { asset = this.asset.uuid, query = "", ...request } = options;
    return openStream(`${this.control.url}/v1/assets/${encodeURIComponent(asset)}/edge/apps${query}`, {
      method: "POST",
      apiKey: this.account.apiKey,
      ...request,
      body: spec,
    });
  }

  /** Requests a change of an existing app: `PATCH`, `DELETE`, or `POST` of an action such as `stop`. */
  change(method: string, app: string, action?: string, body?: unknown): Promise<EventStream> {
    const path = `edge/apps/${app}${action === undefined ? "" : `/${action}`}`;
    return openStream(`${this.control.url}/v1/assets/${this.asset.uuid}/${path}`, {
      method,
      apiKey: this.account.apiKey,
      body,
    });
  }

  /** Deploys and waits for the end of the stream. Rejects unless events are in order and exactly one, the last, is final. */
  async deploy(spec: AppRequest): Promise<Deployed> {
    return this.finish(await this.open(spec));
  }

  /** Waits for the end of a stream. Rejects unless events are in order and exactly one, the last, is final. */
  async finish(stream: EventStream): Promise<Deployed> {
    await stream.until("the final event", ({ events }) => events.some(isFinal), DEPLOYMENT_MS);
    if (!(await stream.ended)) throw new Error(`the stream was cut off; received: ${stream.text}`);
    const { status, headers, events, deploymentId } = stream;
    const final = events.at(-1) as DeploymentEvent;
    const first = events[0]?.seq ?? 0;
    if (events.filter(isFinal).length !== 1 || !isFinal(final) || events.some(({ seq }, i) => seq !== first + i)) {
      throw new Error(`not a deployment's stream: ${stream.text}`);
    }
    return { status, headers, events, final, deploymentId };
  }

  /** Streams the events of a deployment after a given `seq`. */
  follow(deploymentId: string, after: number = 0): Promise<EventStream> {
    return openStream(`${this.deploymentUrl(deploymentId)}/events?after=${after}`, { apiKey: this.account.apiKey });
  }

  /** Returns a deployment as the HTTP API shows it. */
  async record(deploymentId: string): Promise<Record<string, unknown>> {
    const response = await fetch(this.deploymentUrl(deploymentId), { headers: { "X-API-Key": this.account.apiKey } });
    return (await response.json()) as Record<string, unknown>;
  }

  deploymentUrl(deploymentId: string): string {
    return `${this.control.url}/v1/assets/${this.asset.uuid}/edge/deployments/${deploymentId}`;
  }

  /** Containers of a deployment, running or not. */
  async containersOf(deploymentId: string): Promise<ListedContainer[]> {
    const all = await listContainers(this.engineSocket);
    return all.filter(({ Labels }) => Labels?.[LABELS.deployment] === deploymentId);
  }

  /** Inspects the deployment's container. Rejects unless there is exactly one. */
  async inspect(deploymentId: string): Promise<ContainerInspection> {
    const [container, ...others] = await this.containersOf(deploymentId);
    if (!container || others.length > 0) throw new Error(`expected one container of ${deploymentId}`);
    const { body } = await engineRequest(this.engineSocket, "GET", `/containers/${container.Id}/json`);
    return JSON.parse(body) as ContainerInspection;
  }

  /** The last output of each process, to diagnose a failed test. */
  tail(): string {
    return `--- edge-agent\n${this.agent.tail()}\n--- edge-control\n${this.control.tail()}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

async function ownEngine(owned: AsyncDisposableStack): Promise<{ readonly socketPath: string }> {
  if ((await privateEngineUnavailableReason()) === undefined) return owned.use(await PrivateEngine.start());
  const socketPath = await dockerSocket();
  if (socketPath === undefined) throw new Error("no Docker engine responds on this machine");
  return { socketPath };
}

interface SystemParts {
  readonly prefix: string;
  readonly control: ControlProcess;
  readonly agent: AgentProcess;
  readonly account: Account;
  readonly asset: Asset;
  readonly link: TcpRelay;
  readonly engineSocket: string;
  readonly isMachines: boolean;
  readonly directory: string;
}
