import { type AppSpec, parseAppSpec } from "../../protocol/app-spec.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { announcement } from "../core/announce.ts";
import type { Rival } from "../core/check.ts";
import { type DeploymentRecord, type Failure, newRecord } from "../core/deployment.ts";
import { hostPortsOf } from "../core/host-port.ts";
import type { CommandHandler } from "../link/ports.ts";
import type { DeployServices } from "./context.ts";
import { DeploymentRun } from "./deployment-run.ts";

type CancelReason = Parameters<CommandHandler["cancel"]>[1];

const CANCEL_MESSAGES: Readonly<Record<CancelReason, string>> = {
  requested: "The deployment was cancelled.",
  timeout: "The deployment was cancelled because it did not end in time.",
  not_reachable: "The deployment was cancelled because it had been reported as not reachable.",
  unknown: "The deployment was cancelled by the control plane.",
};

/** All deployments of the device: takes commands, runs them side by side, resumes what a restart interrupted. */
export class Deployments implements CommandHandler, AsyncDisposable {
  readonly #services: DeployServices;
  readonly #runs = new Map<string, { readonly run: DeploymentRun; readonly ended: Promise<void> }>();
  /** Apps somebody else is at work on, and when that is over. */
  readonly #held = new Map<string, Promise<void>>();

  constructor(services: DeployServices) {
    this.#services = services;
  }

  /** Goes on with what is not finished. Call once, before commands arrive. */
  resume(): void {
    for (const record of this.#services.store.deployments()) {
      if (record.outcome === "pending") this.#launch(record, { isResumed: true });
    }
  }

  deploy(deploymentId: string, input: unknown, origin: DeploymentRecord["origin"] = "control_plane"): void {
    const { store, logger } = this.#services;
    if (store.deployment(deploymentId) || store.endOf(deploymentId)) return;
    if (store.isFull()) {
      throw new EdgeError("InsufficientDisk", "The device's disk is full: not even the request can be stored.");
    }
    const parsed = parseAppSpec(input);
    const order = store.nextOrder();
    if (!parsed.ok) {
      const record = { ...newRecord(deploymentId, order, undefined, refused(parsed.error)), origin };
      store.save({ deployment: record });
      this.#launch(record, { isResumed: false });
      return;
    }
    const { spec } = parsed;
    const record = { ...newRecord(deploymentId, order, spec), origin };
    store.save({ deployment: record, events: announcement({ kind: "check", spec }) });
    logger.info({ deployment: deploymentId, app: spec.name, image: spec.image, ...facts(spec) }, "deployment accepted");
    this.#launch(record, { isResumed: false, announced: "check" });
  }

  cancel(deploymentId: string, reason: CancelReason): void {
    const failure: Failure = { code: "DeploymentCancelled", message: CANCEL_MESSAGES[reason], step: "done" };
    const active = this.#runs.get(deploymentId);
    if (active) {
      active.run.fail(failure);
      return;
    }
    // A success is provisional until the control plane holds it: what it reported as failed must not stay.
    const { store } = this.#services;
    const known = store.deployment(deploymentId) ?? this.#recordOfApp(deploymentId);
    if (known ? known.outcome !== "succeeded" : store.endOf(deploymentId) === "Fail") return;
    const record = known ?? this.#recordOfForgotten(deploymentId);
    const undone: DeploymentRecord = { ...record, outcome: "pending", failure };
    store.save({ deployment: undone, removedApp: record.app });
    this.#launch(undone, { isResumed: false });
  }

  openDeployments(): readonly string[] {
    const { store } = this.#services;
    return store.deployments().flatMap(({ id, origin }) => (origin === "control_plane" ? [id] : []));
  }

  /** Whether a deployment is at work on the app right now. */
  isBusy(app: string): boolean {
    return [...this.#runs.values()].some(({ run }) => run.record.app === app);
  }

  /**
   * Takes an app for work that is no deployment's, until disposed; `undefined` while a deployment is at work on it. What
   * a deployment has to undo of the app meanwhile waits.
   */
  hold(app: string): Disposable | undefined {
    if (this.isBusy(app) || this.#held.has(app)) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(app, promise);
    return {
      [Symbol.dispose]: () => {
        this.#held.delete(app);
        resolve();
      },
    };
  }

  /** Stops working on all deployments; they are resumed at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { run } of this.#runs.values()) run.stop();
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  #launch(record: DeploymentRecord, options: { readonly isResumed: boolean; readonly announced?: "check" }): void {
    const run = new DeploymentRun({
      services: this.#services,
      record,
      rivals: () => this.#rivalsOf(record),
      ...options,
    });
    const held = this.#held.get(record.app);
    const running = held ? held.then(() => run.run()) : run.run();
    const ended = running.finally(() => this.#runs.delete(record.id));
    this.#runs.set(record.id, { run, ended });
  }

  /** A deployment long forgotten whose app is still here, as when the app was found again after the store was lost. */
  #recordOfApp(deploymentId: string): DeploymentRecord | undefined {
    const { store } = this.#services;
    const app = store.apps().find((candidate) => candidate.deploymentId === deploymentId);
    if (!app) return undefined;
    const { spec, imageId } = app;
    return { ...newRecord(deploymentId, store.nextOrder(), spec), checked: true, imageId, outcome: "succeeded" };
  }

  /**
   * A deployment nothing is known of, as when the store was lost. It may have left a container; which image it was made
   * of does not matter any more.
   */
  #recordOfForgotten(deploymentId: string): DeploymentRecord {
    const { store } = this.#services;
    return { ...newRecord(deploymentId, store.nextOrder(), undefined), imageId: "unknown", outcome: "succeeded" };
  }

  #rivalsOf(record: DeploymentRecord): Rival[] {
    return [...this.#runs.values()]
      .map(({ run }) => run.record)
      .filter(({ id, order, outcome }) => id !== record.id && order < record.order && outcome === "pending")
      .flatMap(({ id, app, spec }) => (spec ? [{ id, app, hostPorts: hostPortsOf(spec) }] : []));
  }
}

function refused(error: EdgeError): Failure {
  const { code, message, details } = error;
  return { code, message, step: "checking", ...(details && { details }) };
}

/** What of a specification may stand in a log: never the values of its environment. */
function facts(spec: AppSpec) {
  return {
    ports: spec.ports.map(({ host_port, target_port }) => `${host_port}:${target_port}`),
    volumes: spec.volumes.length,
    variables: spec.environments.map(({ key }) => key),
    ...(spec.host_network && { host_network: true }),
    ...(spec.privileged && { privileged: true }),
  };
}
