import type { AppReport } from "../../../src/protocol/apps/app-report.ts";
import type { ErrorCode } from "../../../src/protocol/errors/errors.ts";
import type { DeploymentFacts, TargetFacts } from "../../../src/control-plane/core/fleets/target-decision.ts";
import { FLEET, imageOf } from "./model-revisions.ts";

/** What an attempt is to lead to. */
export interface Plan {
  readonly outcome: "success" | ErrorCode;
  readonly durationMs: number;
  readonly putOffMs: number;
  /** The device goes away in the middle of it, for this time. */
  readonly vanishesForMs: number | undefined;
}

/** A deployment as the service has it, and as the device does. They differ while the device is away. */
export interface ModelDeployment {
  readonly id: string;
  /** What it brings: the apps of a revision, or a version of the agent. */
  readonly brings: Brought;
  readonly createdAtMs: number;
  readonly deadlineAtMs: number;
  status: "Running" | "Success" | "Fail";
  code: ErrorCode | undefined;
  acknowledgedAtMs: number | undefined;
  finishedAtMs: number | undefined;
  putOffUntilMs: number | undefined;
  /** When the device ends it; `undefined`: it has, or never had it. */
  endsOnDeviceAtMs: number | undefined;
  readonly plan: Plan;
  /** The device has ended it with success, and what it ran before, should it have to undo it. */
  before: Installed | undefined;
}

export type Brought =
  | { readonly part: "apps"; readonly revision: number | undefined }
  | { readonly part: "agent"; readonly version: number };

/** The app on the device; `revision` undefined: there is none. */
export interface Installed {
  readonly revision: number | undefined;
  readonly isChanged: boolean;
  readonly isStopped: boolean;
}

const NONE: Installed = { revision: undefined, isChanged: false, isStopped: false };
const DEPLOYMENT_TIMEOUT_MS = 900_000;

/** A device with one app, as far as a rollout sees it. */
export class ModelDevice {
  installed: Installed = NONE;
  /** Middle part of its agent's version. */
  agent = 1;
  /** As the service knows it. */
  toldAgent = 1;
  isUp = true;
  upSinceMs = 0;
  restarts = 0;
  isConnected = true;
  isMember = true;
  lastSeenAtMs: number | undefined = 0;
  #connectedSinceMs = 0;
  returnsAtMs: number | undefined;
  heldUntilMs: number | undefined;
  /** It holds its reports back until then. */
  reportsHeldUntilMs: number | undefined;
  reportsHeldSinceMs: number | undefined;
  hasConflict = false;
  isMissingVariables = false;
  isZoneKnown = true;
  /** Tag of its asset. */
  readonly site: string;
  report: TargetFacts["report"];
  readonly deployments = new Map<string, ModelDeployment>();

  readonly uuid: string;
  /** Whether its reports say which fleet an app belongs to; it may have lost that. */
  readonly #isMarking: boolean;
  readonly onEvent: (uuid: string) => void;

  /** @param onEvent called when something happens to it */
  constructor(uuid: string, isMarking: boolean, onEvent: (uuid: string) => void) {
    this.uuid = uuid;
    this.#isMarking = isMarking;
    this.onEvent = onEvent;
    this.site = `site-${Number(uuid.slice(-3)) % 3}`;
  }

  facts(deploymentId: string | undefined, isBusy: boolean): TargetFacts {
    const deployment = deploymentId === undefined ? undefined : this.deployments.get(deploymentId);
    return {
      isConnected: this.isConnected,
      connectedSinceMs: this.isConnected ? this.#connectedSinceMs : undefined,
      protocol: this.lastSeenAtMs === undefined ? undefined : 1,
      agentVersion: this.lastSeenAtMs === undefined ? undefined : `1.${this.toldAgent}.0`,
      lastSeenAtMs: this.lastSeenAtMs,
      report: this.report && { ...this.report, heldSinceMs: this.reportsHeldSinceMs },
      heldUntilMs: this.heldUntilMs,
      unacceptedSinceMs: undefined,
      conflicts: this.hasConflict ? [{ app: "web", fleet: "other" }] : [],
      isBusy,
      isMember: this.isMember,
      missingVariables: this.isMissingVariables ? ["SITE"] : [],
      deployment: deployment && toFacts(deployment),
    };
  }

  get running(): ModelDeployment | undefined {
    return [...this.deployments.values()].find(({ status }) => status === "Running");
  }

  connect(nowMs: number): void {
    if (this.isConnected) return;
    this.isConnected = true;
    this.lastSeenAtMs = nowMs;
    this.#connectedSinceMs = nowMs;
    this.toldAgent = this.agent;
    this.returnsAtMs = undefined;
    for (const deployment of this.deployments.values()) {
      if (deployment.status === "Fail") this.#undo(deployment, nowMs);
      else if (deployment.status === "Running" && deployment.endsOnDeviceAtMs === undefined)
        this.#deliver(deployment, nowMs);
    }
    this.sendReport(nowMs);
    this.onEvent(this.uuid);
  }

  disconnect(nowMs: number, forMs: number): void {
    if (!this.isConnected) return;
    this.isConnected = false;
    this.lastSeenAtMs = nowMs;
    this.returnsAtMs = nowMs + forMs;
    this.onEvent(this.uuid);
  }

  /** The service requests a deployment. */
  request(id: string, brings: Brought, plan: Plan, nowMs: number): void {
    const isReached = this.isConnected;
    this.deployments.set(id, {
      id,
      brings,
      createdAtMs: nowMs,
      deadlineAtMs: nowMs + plan.putOffMs + DEPLOYMENT_TIMEOUT_MS,
      status: isReached ? "Running" : "Fail",
      code: isReached ? undefined : "DeviceNotReachable",
      acknowledgedAtMs: isReached ? nowMs : undefined,
      finishedAtMs: isReached ? undefined : nowMs,
      putOffUntilMs: isReached && plan.putOffMs > 0 ? nowMs + plan.putOffMs : undefined,
      endsOnDeviceAtMs: isReached ? nowMs + plan.putOffMs + plan.durationMs : undefined,
      plan,
      before: undefined,
    });
    if (isReached && plan.vanishesForMs !== undefined) this.disconnect(nowMs, plan.vanishesForMs);
    this.onEvent(this.uuid);
  }

  /** Lets happen what is due. */
  tick(nowMs: number): void {
    if (this.returnsAtMs !== undefined && this.returnsAtMs <= nowMs) this.connect(nowMs);
    if (this.isConnected) this.lastSeenAtMs = nowMs;
    for (const deployment of this.deployments.values()) this.#tickDeployment(deployment, nowMs);
    if (this.reportsHeldUntilMs !== undefined && this.reportsHeldUntilMs <= nowMs) {
      this.reportsHeldUntilMs = undefined;
      this.sendReport(nowMs);
    }
    if (this.heldUntilMs !== undefined && this.heldUntilMs <= nowMs) {
      this.heldUntilMs = undefined;
      this.onEvent(this.uuid);
    }
  }

  /** When something is due; `undefined`: nothing is. */
  nextMs(): number | undefined {
    const deployments = [...this.deployments.values()].filter(({ status }) => status === "Running");
    const times = [
      this.returnsAtMs,
      this.heldUntilMs,
      this.reportsHeldUntilMs,
      ...deployments.flatMap(({ endsOnDeviceAtMs, deadlineAtMs }) => [endsOnDeviceAtMs, deadlineAtMs]),
    ].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** The app stops and comes up again, at once or with `comeUp`. */
  restart(nowMs: number, isUp: boolean): void {
    this.isUp = isUp;
    this.upSinceMs = nowMs;
    this.restarts++;
    this.sendReport(nowMs);
  }

  /** Somebody changes or stops the app by hand. */
  changeByHand(nowMs: number, change: Partial<Installed>): void {
    if (this.installed.revision === undefined) return;
    this.installed = { ...this.installed, ...change };
    this.upSinceMs = nowMs;
    this.sendReport(nowMs);
  }

  /** Somebody installs another version of the agent, which connects anew. */
  changeAgent(nowMs: number, version: number): void {
    this.agent = version;
    if (!this.isConnected) return;
    this.toldAgent = version;
    this.#connectedSinceMs = nowMs;
    this.onEvent(this.uuid);
  }

  /** Somebody changes what is known of it. */
  change(known: Partial<Pick<ModelDevice, "heldUntilMs" | "hasConflict" | "isMissingVariables" | "isMember">>): void {
    Object.assign(this, known);
    this.onEvent(this.uuid);
  }

  sendReport(nowMs: number): void {
    if (!this.isConnected) return;
    if (this.reportsHeldUntilMs !== undefined) {
      this.reportsHeldSinceMs ??= nowMs;
      return;
    }
    this.reportsHeldSinceMs = undefined;
    const apps = this.installed.revision === undefined ? [] : [this.#appReport(this.installed.revision)];
    const isSame = JSON.stringify(apps) === JSON.stringify(this.report?.apps);
    // The service keeps whole seconds.
    const atMs = Math.floor(nowMs / 1000) * 1000;
    if (!isSame) this.report = { apps, device: undefined, atMs, heldSinceMs: undefined };
    this.onEvent(this.uuid);
  }

  #appReport(revision: number): AppReport {
    const { isChanged, isStopped } = this.installed;
    const image = isChanged ? "registry.example.com/web:by-hand" : imageOf(revision);
    const report: AppReport = {
      name: "web",
      image,
      image_digest: null,
      state: isStopped ? "stopped" : this.isUp ? "running" : "restarting",
      desired_state: isStopped ? "stopped" : "running",
      since: Math.floor(this.upSinceMs / 1000),
      restarts: this.restarts,
      spec: { name: "web", image, environments: [{ key: "SITE", value: "***" }], project: FLEET },
      last_deployment: null,
    };
    const mark = { name: FLEET, revision, deployment_id: "dep", is_changed: isChanged };
    return this.#isMarking ? { ...report, fleet: mark } : report;
  }

  #tickDeployment(deployment: ModelDeployment, nowMs: number): void {
    const { endsOnDeviceAtMs, plan } = deployment;
    if (deployment.putOffUntilMs !== undefined && deployment.putOffUntilMs <= nowMs)
      deployment.putOffUntilMs = undefined;
    if (endsOnDeviceAtMs !== undefined && endsOnDeviceAtMs <= nowMs) {
      deployment.endsOnDeviceAtMs = undefined;
      if (plan.outcome === "success") this.#install(deployment, nowMs);
      if (this.isConnected) this.#deliver(deployment, nowMs);
    }
    if (deployment.status === "Running" && deployment.deadlineAtMs <= nowMs) {
      this.#end(deployment, "Fail", "DeploymentTimeout", nowMs);
      if (this.isConnected) this.#undo(deployment, nowMs);
    }
  }

  #install(deployment: ModelDeployment, nowMs: number): void {
    // A version that was confirmed stays, whatever becomes of the deployment.
    if (deployment.brings.part === "agent") return this.changeAgent(nowMs, deployment.brings.version);
    const wanted = { ...NONE, revision: deployment.brings.revision };
    deployment.before = this.installed;
    // What runs as specified already is not touched.
    if (JSON.stringify(wanted) === JSON.stringify(this.installed)) return;
    this.installed = wanted;
    this.isUp = true;
    this.upSinceMs = nowMs;
  }

  /** The device reports how it ended. */
  #deliver(deployment: ModelDeployment, nowMs: number): void {
    if (deployment.status !== "Running") return;
    const { outcome } = deployment.plan;
    if (outcome === "success") this.#end(deployment, "Success", undefined, nowMs);
    else this.#end(deployment, "Fail", outcome, nowMs);
    this.sendReport(nowMs + 1);
  }

  #end(deployment: ModelDeployment, status: "Success" | "Fail", code: ErrorCode | undefined, nowMs: number): void {
    deployment.status = status;
    deployment.code = code;
    deployment.finishedAtMs = nowMs;
    this.onEvent(this.uuid);
  }

  /** The service has given it up, so the device restores what was there before. */
  #undo(deployment: ModelDeployment, nowMs: number): void {
    deployment.endsOnDeviceAtMs = undefined;
    if (deployment.before === undefined) return;
    this.installed = deployment.before;
    deployment.before = undefined;
    this.isUp = true;
    this.upSinceMs = nowMs;
    this.sendReport(nowMs);
  }
}

function toFacts(deployment: ModelDeployment): DeploymentFacts {
  const { id, brings, status, code, acknowledgedAtMs, finishedAtMs, putOffUntilMs } = deployment;
  const action = brings.part === "agent" ? "update_agent" : "apply";
  return { id, action, status, code, message: undefined, acknowledgedAtMs, finishedAtMs, putOffUntilMs };
}
