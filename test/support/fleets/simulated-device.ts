import type { AgentUpdate } from "../../../src/protocol/agents/agent-update.ts";
import type { AppReport } from "../../../src/protocol/apps/app-report.ts";
import type { DeploymentOutcome } from "../../../src/protocol/deployments/deployment-outcome.ts";
import type { ErrorCode } from "../../../src/protocol/errors/errors.ts";
import { someFacts } from "../control-plane/device-samples.ts";
import { FakeDevice, type FrameOf } from "../fake-device.ts";

/** An apply request as devices get it. */
export interface ReceivedApply {
  readonly deploymentId: string;
  readonly project: string;
  readonly images: readonly string[];
  readonly request: {
    readonly project: string;
    readonly apps: readonly {
      readonly app: Readonly<Record<string, unknown>> & { readonly name: string; readonly image: string };
    }[];
    readonly remove?: readonly string[];
    readonly fleet?: { readonly name: string; readonly revision: number };
  };
  readonly isDryRun: boolean;
}

/** A request to update the agent. */
export interface ReceivedUpdate {
  readonly deploymentId: string;
  readonly request: AgentUpdate;
  readonly isDryRun: boolean;
}

/** What a device does with a request. */
export type Behaviour =
  | "succeed"
  /** Takes the request and never says anything about it again. */
  | "hang"
  /** Closes its connection in mid-deployment. */
  | "vanish"
  /** The apps of the new version are not up. */
  | "unhealthy"
  | { readonly fail: ErrorCode; readonly logs?: readonly string[] };

/**
 * A device on the real protocol: it applies groups of apps at once, reports what runs, and does as it is told otherwise. Its apps
 * outlast its connections. An update of its agent ends its connection; the new version opens another one and says that it works.
 */
export class SimulatedDevice implements AsyncDisposable {
  readonly received: ReceivedApply[] = [];
  readonly updates: ReceivedUpdate[] = [];
  agentVersion = "1.0.0";
  /** What runs, by name. */
  readonly apps = new Map<string, AppReport>();
  behave: (apply: ReceivedApply) => Behaviour | Promise<Behaviour> = () => "succeed";
  update: (update: ReceivedUpdate) => "succeed" | Extract<Behaviour, object> = () => "succeed";
  /** The output of an app, line by line. */
  output: (app: string) => readonly string[] = () => [];
  #url: string;
  readonly #token: string;
  #device: FakeDevice | undefined;
  /** How deployments ended, as a device keeps it. */
  readonly #outcomes: DeploymentOutcome[] = [];
  /** Deployments that it has and has not ended. */
  readonly #held = new Set<string>();
  #reports = 0;
  #session = 0;
  #serving: Promise<void> = Promise.resolve();

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  get isConnected(): boolean {
    return this.#device !== undefined && !this.#device.isClosed;
  }

  /** Connects, reports, and goes on answering until `disconnect`. Ends an earlier connection. */
  async connect(url = this.#url): Promise<void> {
    await this.disconnect();
    // What has arrived and is acknowledged is carried out first: the device says that it holds it.
    await this.#serving;
    await this.#open(url);
  }

  async #open(url: string): Promise<FakeDevice> {
    this.#url = url;
    const options = {
      agentVersion: this.agentVersion,
      held: [...this.#held],
      outcomes: this.#outcomes,
      logs: (app: string) => this.output(app),
    };
    const device = await FakeDevice.connect(url, this.#token, options);
    this.#device = device;
    this.report();
    this.#serving = this.#serve(device, ++this.#session);
    return device;
  }

  async disconnect(): Promise<void> {
    await this.#device?.[Symbol.asyncDispose]();
    this.#device = undefined;
  }

  /** Reports all apps. */
  report(): void {
    const hash = `${++this.#reports}`;
    const facts = someFacts({ agent_version: this.agentVersion });
    this.#device?.report({ hash, apps: [...this.apps.values()], device: facts });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  async #serve(device: FakeDevice, session: number): Promise<void> {
    while (session === this.#session) {
      // Waits ten seconds each time. What has arrived is carried out, also after the end of the connection.
      const frame = await device.next("apply", "update_agent").catch(() => undefined);
      if (!frame && device.isClosed) return;
      // It carries none out twice, as an agent.
      const known = [...this.received, ...this.updates];
      if (!frame || known.some(({ deploymentId }) => deploymentId === frame.deployment_id)) continue;
      if (frame.type === "update_agent") {
        await this.#updateAgent(device, frame);
        continue;
      }
      const request = frame.request as ReceivedApply["request"];
      const apply: ReceivedApply = {
        deploymentId: frame.deployment_id,
        project: request.project,
        images: request.apps.map(({ app }) => app.image),
        request,
        isDryRun: frame.options?.dry_run === true,
      };
      this.received.push(apply);
      await this.#carryOut(device, apply, await this.behave(apply));
    }
  }

  async #updateAgent(
    device: FakeDevice,
    { deployment_id: id, request, options }: FrameOf<"update_agent">,
  ): Promise<void> {
    const update = { deploymentId: id, request: request as AgentUpdate, isDryRun: options?.dry_run === true };
    this.updates.push(update);
    this.#held.add(id);
    device.event(id, { step: "checking", message: "Checking." });
    const behaviour = this.update(update);
    if (behaviour !== "succeed") {
      const { fail: code, logs } = behaviour;
      this.#end({ deployment_id: id, status: "Fail", code });
      const details = logs === undefined ? {} : { details: { logs } };
      device.event(id, { status: "Fail", step: "done", code, message: "It did not work.", ...details });
      return;
    }
    if (update.isDryRun) {
      this.#end({ deployment_id: id, status: "Success" });
      const details = { dry_run: true, download_bytes: 500 };
      device.event(id, { status: "Success", step: "done", message: "Dry run.", details });
      return;
    }
    const trial = { version: update.request.version, waiting_s: 900 };
    const deviceSeq = device.event(id, { step: "verifying", message: "It runs on trial.", details: trial });
    await device.flushed();
    await this.disconnect();
    this.agentVersion = update.request.version ?? this.agentVersion;
    const renewed = await this.#open(this.#url);
    this.#end({ deployment_id: id, status: "Success" });
    renewed.event(id, { status: "Success", step: "done", message: "It works.", device_seq: deviceSeq + 1 });
  }

  async #carryOut(device: FakeDevice, apply: ReceivedApply, behaviour: Behaviour): Promise<void> {
    const id = apply.deploymentId;
    this.#held.add(id);
    device.event(id, { step: "checking", message: "Checking." });
    if (behaviour === "hang") return;
    if (behaviour === "vanish") return this.disconnect();
    if (typeof behaviour === "object") {
      this.#end({ deployment_id: id, status: "Fail", code: behaviour.fail });
      const { fail: code, logs } = behaviour;
      const details = logs === undefined ? {} : { details: { logs } };
      device.event(id, { status: "Fail", step: "done", code, message: "It did not work.", ...details });
      // As an agent, whose apps have another last deployment now.
      await device.flushed();
      this.report();
      return;
    }
    if (apply.isDryRun) {
      const details = { dry_run: true, plan: [], plan_hash: "0".repeat(64), download_bytes: 1_000, not_in_request: [] };
      this.#end({ deployment_id: id, status: "Success" });
      device.event(id, { status: "Success", step: "done", message: "Dry run.", details });
      return;
    }
    device.event(id, { step: "pulling", message: "Pulling." });
    device.event(id, { step: "starting", message: "Starting." });
    for (const { app } of apply.request.apps) this.apps.set(app.name, toReport(app, apply, behaviour === "unhealthy"));
    for (const name of apply.request.remove ?? []) this.apps.delete(name);
    this.#end({ deployment_id: id, status: "Success" });
    device.success(id);
    // The report comes after the final event, as from an agent.
    await device.flushed();
    this.report();
  }

  #end(outcome: DeploymentOutcome): void {
    this.#held.delete(outcome.deployment_id);
    this.#outcomes.push(outcome);
  }
}

function toReport(
  app: Readonly<Record<string, unknown>> & { readonly name: string; readonly image: string },
  { deploymentId, request }: ReceivedApply,
  isUnhealthy: boolean,
): AppReport {
  return {
    name: app.name,
    image: app.image,
    image_digest: app.image.slice(app.image.indexOf("@") + 1),
    state: isUnhealthy ? "restarting" : "running",
    desired_state: "running",
    since: Math.floor(Date.now() / 1000),
    restarts: isUnhealthy ? 5 : 0,
    spec: { ...app },
    last_deployment: { deployment_id: deploymentId, action: "apply", status: "Success", finished_at: null },
    ...(request.fleet && { fleet: { ...request.fleet, deployment_id: deploymentId, is_changed: false } }),
  };
}
