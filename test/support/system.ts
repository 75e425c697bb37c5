import type { z } from "zod";
import { LABELS } from "../../src/agent/core/app/container.ts";
import type { deployRequestSchema } from "../../src/protocol/deploy-request.ts";
import { type DeploymentEvent, isFinal } from "../../src/protocol/deployment-event.ts";
import { dockerSocket } from "./docker-socket.ts";
import { type EventStream, openStream, type StreamRequest } from "./event-stream.ts";
import { engineRequest, type Image, loadImage, removeImage, uniqueName } from "./images.ts";
import { TcpRelay } from "./link/tcp-relay.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "./private-engine.ts";
import { type AgentConfig, AgentProcess } from "./system/agent.ts";
import { type Account, type Asset, ControlProcess } from "./system/control.ts";
import {
  type ContainerInspection,
  type ListedContainer,
  listContainers,
  removeContainers,
} from "./system/engine-containers.ts";
import { tempDir } from "./temp-dir.ts";
import { waitFor } from "./wait-for.ts";

/** A deployment request as a client writes it. */
export type AppRequest = z.input<typeof deployRequestSchema>;

export interface SystemOptions {
  /** Keys of the agent's configuration file; the rest fits tests. */
  readonly agentConfig?: AgentConfig;
  /** Further options of `edge-control serve`. */
  readonly controlFlags?: readonly string[];
  /**
   * The engine the agent uses, such as a `PodmanService`; the caller disposes of it after the system. Default: a Docker
   * of the system's own, or where none can be started, the machine's. One of its own, since privileged apps need a
   * runtime that the machine's engine may not have, and since tests stop and break it.
   */
  readonly engine?: { readonly socketPath: string };
  /** A command that takes another to run: the agent is started by it. */
  readonly agentWrapper?: readonly string[];
}

/** `query`: with its question mark. */
type OpenOptions = Omit<StreamRequest, "body"> & { readonly asset?: string; readonly query?: string };

/** How a deployment went, from its request to the end of the stream. */
export interface Deployed {
  readonly status: number;
  readonly headers: EventStream["headers"];
  readonly events: readonly DeploymentEvent[];
  /** The last event: `Success` or `Fail`. */
  readonly final: DeploymentEvent;
  readonly deploymentId: string;
}

/** How long a deployment may take in a test. */
const DEPLOYMENT_MS = 90_000;

/**
 * Both executables as real processes, with one account, one asset, and its device online. Disposing it ends them and
 * removes what they made: containers whose app or name begins with `prefix`, images, directories.
 */
export class System implements AsyncDisposable {
  /** Names of apps, containers and images of this system begin so. */
  readonly prefix: string;
  readonly control: ControlProcess;
  readonly agent: AgentProcess;
  readonly account: Account;
  readonly asset: Asset;
  /** The agent's link to the control plane runs through it. */
  readonly link: TcpRelay;
  readonly engineSocket: string;
  /** A directory for whatever a test needs; it goes with the system. */
  readonly directory: string;
  readonly #owned: AsyncDisposableStack;
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
    this.#owned = owned;
  }

  /** Starts one and waits until its device is online. Needs the executables in dist/. */
  static async start(options: SystemOptions = {}): Promise<System> {
    await using owned = new AsyncDisposableStack();
    const engineSocket = options.engine?.socketPath ?? (await ownEngine(owned));
    const { path: directory } = owned.use(await tempDir());
    const prefix = uniqueName("");
    const control = owned.use(new ControlProcess(directory, options.controlFlags ?? []));
    await control.start();
    const account = await control.createAccount(prefix);
    const asset = await control.addAsset(account.accountId, `${prefix}gw`);
    const link = owned.use(await TcpRelay.to(control.port));
    owned.defer(() => removeContainers(engineSocket, prefix));
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
    return new System({ prefix, control, agent, account, asset, link, engineSocket, directory }, owned.move());
  }

  /** Waits until the service has the device's connection, such as after a restart of the service. */
  async untilOnline(): Promise<void> {
    const isOnline = (): boolean => {
      const lines = this.control.log().filter(({ asset }) => asset === this.asset.uuid);
      return lines.findLast(({ msg }) => /^device (?:online|offline)$/.test(msg))?.msg === "device online";
    };
    await waitFor("the device to be online", isOnline);
  }

  /** How often the device has come online. After a cut, the last word of the log may still be of the session before. */
  countSessions(): number {
    return this.control.log().filter(({ asset, msg }) => asset === this.asset.uuid && msg === "device online").length;
  }

  /** A name for an app, another one each time. */
  name(label: string = "app"): string {
    return `${this.prefix}${label}${++this.#names}`;
  }

  /** Puts an image into the engine and answers its reference. */
  async load(image: Image, label: string = "image"): Promise<string> {
    const { reference } = await loadImage(this.engineSocket, image, label);
    return this.removeImageLater(reference);
  }

  /** Has an image removed with the system that the agent will pull. Answers its reference. */
  removeImageLater(reference: string): string {
    // A test that failed may have left the engine down; then it is one of the test's own, and its images go with it.
    this.#owned.defer(() => removeImage(this.engineSocket, reference).catch(() => {}));
    return reference;
  }

  /** Requests the deployment and resolves when the response's headers are there. Anything may be sent as `spec`. */
  open(spec: unknown, options: OpenOptions = {}): Promise<EventStream> {
    const { asset = this.asset.uuid, query = "", ...request } = options;
    return openStream(`${this.control.url}/v1/assets/${encodeURIComponent(asset)}/edge/apps${query}`, {
      method: "POST",
      apiKey: this.account.apiKey,
      ...request,
      body: spec,
    });
  }

  /** Requests a change of an app that is there: `PATCH`, `DELETE`, or `POST` of an action such as `stop`. */
  change(method: string, app: string, action?: string, body?: unknown): Promise<EventStream> {
    const path = `edge/apps/${app}${action === undefined ? "" : `/${action}`}`;
    return openStream(`${this.control.url}/v1/assets/${this.asset.uuid}/${path}`, {
      method,
      apiKey: this.account.apiKey,
      body,
    });
  }

  /** Deploys, and waits until the stream has ended. Fails unless it ends in order, with one final event. */
  async deploy(spec: AppRequest): Promise<Deployed> {
    return this.finish(await this.open(spec));
  }

  /** Waits for the end of a deployment's stream. Fails unless it ends in order, with one final event. */
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

  /** The events of a deployment after one of them, and those to come. */
  follow(deploymentId: string, after: number = 0): Promise<EventStream> {
    return openStream(`${this.deploymentUrl(deploymentId)}/events?after=${after}`, { apiKey: this.account.apiKey });
  }

  /** The record of a deployment. */
  async record(deploymentId: string): Promise<Record<string, unknown>> {
    const response = await fetch(this.deploymentUrl(deploymentId), { headers: { "X-API-Key": this.account.apiKey } });
    return (await response.json()) as Record<string, unknown>;
  }

  deploymentUrl(deploymentId: string): string {
    return `${this.control.url}/v1/assets/${this.asset.uuid}/edge/deployments/${deploymentId}`;
  }

  /** Containers of a deployment, also those that do not run. */
  async containersOf(deploymentId: string): Promise<ListedContainer[]> {
    const all = await listContainers(this.engineSocket);
    return all.filter(({ Labels }) => Labels?.[LABELS.deployment] === deploymentId);
  }

  /** What `docker inspect` shows of the deployment's one container. */
  async inspect(deploymentId: string): Promise<ContainerInspection> {
    const [container, ...others] = await this.containersOf(deploymentId);
    if (!container || others.length > 0) throw new Error(`not one container of ${deploymentId}`);
    const { body } = await engineRequest(this.engineSocket, "GET", `/containers/${container.Id}/json`);
    return JSON.parse(body) as ContainerInspection;
  }

  /** What each side wrote last, for whoever wants to know why a test failed. */
  tail(): string {
    return `--- edge-agent\n${this.agent.tail()}\n--- edge-control\n${this.control.tail()}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

async function ownEngine(owned: AsyncDisposableStack): Promise<string> {
  if ((await privateEngineUnavailableReason()) === undefined) return owned.use(await PrivateEngine.start()).socketPath;
  const socketPath = await dockerSocket();
  if (socketPath === undefined) throw new Error("no Docker engine answers on this machine");
  return socketPath;
}

interface SystemParts {
  readonly prefix: string;
  readonly control: ControlProcess;
  readonly agent: AgentProcess;
  readonly account: Account;
  readonly asset: Asset;
  readonly link: TcpRelay;
  readonly engineSocket: string;
  readonly directory: string;
}
