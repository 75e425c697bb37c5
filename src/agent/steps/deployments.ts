import type { DeployOptions } from "../../protocol/deploy-request.ts";
import { type AppSpec, parseNewAppSpec, type RequestedAppSpec } from "../../protocol/app-spec.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { accept, type ChangeRequest, toRequestFailure } from "../core/deployment/accept.ts";
import { stepEvents } from "../core/deployment/step-events.ts";
import type { ConcurrentDeployment } from "../core/deployment/check.ts";
import { type AppRecord, type DeploymentRecord, type Failure, newRecord } from "../core/deployment/record.ts";
import { hostPortsOf } from "../core/host/host-port.ts";
import { FileIntake } from "../files/intake.ts";
import { removeOtherPlaces } from "../files/place.ts";
import type { CommandHandler } from "../link/ports.ts";
import type { DeployServices } from "./context.ts";
import { DeploymentRun } from "./deployment-run.ts";

type Origin = DeploymentRecord["origin"];
type CancelReason = Parameters<CommandHandler["cancel"]>[1];

const CANCEL_MESSAGES: Readonly<Record<CancelReason, string>> = {
  requested: "The deployment was cancelled.",
  timeout: "The deployment was cancelled because it did not end in time.",
  not_reachable: "The deployment was cancelled because it had been reported as not reachable.",
  unknown: "The deployment was cancelled by the control plane.",
};

/** All deployments of the device: accepts commands, runs them concurrently, and resumes them after a restart. */
export class Deployments implements CommandHandler, AsyncDisposable {
  readonly #services: DeployServices;
  readonly #isRebuilding: () => boolean;
  readonly #runs = new Map<string, { readonly run: DeploymentRun; readonly ended: Promise<void> }>();
  /** Apps under a lease, and when each lease ends. */
  readonly #leases = new Map<string, Promise<void>>();

  /** @param isRebuilding whether the store may not know every app there is */
  constructor(services: DeployServices, isRebuilding: () => boolean = () => false) {
    this.#services = services;
    this.#isRebuilding = isRebuilding;
  }

  /** Resumes pending deployments. Must be called once, before commands arrive. */
  resume(): void {
    const pending = this.#services.store.deployments().filter(({ outcome }) => outcome === "pending");
    // A rollback of a success waits for later deployments of the app, as it did before the restart.
    for (const record of [...pending.filter((r) => !mustRollBack(r)), ...pending.filter(mustRollBack)]) {
      this.#launch(record, { isResumed: true });
    }
  }

  deploy(deploymentId: string, input: unknown, options: DeployOptions = {}, origin: Origin = "control_plane"): void {
    const { store, logger } = this.#services;
    if (this.#isKnown(deploymentId)) return;
    const parsed = parseNewAppSpec(input);
    const order = store.nextOrder();
    if (!parsed.ok) {
      const record = { ...newRecord(deploymentId, order, undefined, toRequestFailure(parsed.error)), origin };
      store.save({ deployment: record });
      this.#launch(record, { isResumed: false });
      return;
    }
    const intake = new FileIntake(store);
    const spec = toStoredSpec(parsed.spec, intake);
    const record = { ...newRecord(deploymentId, order, spec), options, origin };
    const events = stepEvents({ kind: "check", spec }, record);
    store.save({ deployment: record, events, fileContents: intake.contents });
    logger.info(
      { deployment: deploymentId, app: spec.name, image: spec.image, ...logFields(spec) },
      "deployment accepted",
    );
    this.#launch(record, { isResumed: false, announced: "check" });
  }

  change(deploymentId: string, request: ChangeRequest, origin: Origin = "control_plane"): void {
    const { store, logger } = this.#services;
    if (this.#isKnown(deploymentId)) return;
    const { app, action } = request;
    const installed = store.apps().find(({ name }) => name === app);
    const activeDeploymentId = this.#runsOn(app).find(({ run }) => !run.record.options.dry_run)?.run.record.id;
    if (!installed && activeDeploymentId === undefined && this.#isRebuilding()) {
      throw new EdgeError("EngineUnavailable", "The agent is looking for its apps on the engine; try again shortly.");
    }
    const intake = new FileIntake(store);
    const at = { id: deploymentId, order: store.nextOrder(), origin, installed, activeDeploymentId };
    const record = accept(request, { ...at, takeFiles: intake.take });
    store.save({ deployment: record, ...(!record.failure && { fileContents: intake.contents }) });
    const { spec } = record;
    logger.info({ deployment: deploymentId, app, action, ...(spec && logFields(spec)) }, "change of an app accepted");
    this.#launch(record, { isResumed: false });
  }

  cancel(deploymentId: string, reason: CancelReason): void {
    const failure: Failure = { code: "DeploymentCancelled", message: CANCEL_MESSAGES[reason], step: "done" };
    const active = this.#runs.get(deploymentId);
    if (active) {
      active.run.fail(failure);
      return;
    }
    // A success is provisional until the control plane has acknowledged it.
    const { store, logger } = this.#services;
    const app = store.apps().find((candidate) => candidate.deploymentId === deploymentId);
    const known = store.deployment(deploymentId) ?? (app && this.#recordOfApp(app));
    if (known ? known.outcome !== "succeeded" : store.finalStatusOf(deploymentId) === "Fail") return;
    if (known?.action === "update" && !known.previous) {
      logger.warn(
        { deployment: deploymentId, app: known.app },
        "an update cannot be undone: what was before is unknown",
      );
      return;
    }
    const record = known ?? this.#recordOfForgotten(deploymentId);
    const cancelled: DeploymentRecord = { ...record, outcome: "pending", failure };
    store.save({ deployment: cancelled });
    this.#launch(cancelled, { isResumed: false });
  }

  openDeployments(): readonly string[] {
    const { store } = this.#services;
    return store.deployments().flatMap(({ id, origin }) => (origin === "control_plane" ? [id] : []));
  }

  /** Whether a deployment is working on the app. */
  isBusy(app: string): boolean {
    return this.#runsOn(app).length > 0;
  }

  /**
   * Takes the exclusive right to work on an app outside a deployment, until disposed; `undefined` while a deployment is
   * working on the app or another lease exists. Deployments of the app wait meanwhile.
   */
  lease(app: string): Disposable | undefined {
    if (this.isBusy(app) || this.#leases.has(app)) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#leases.set(app, promise);
    return {
      [Symbol.dispose]: () => {
        this.#leases.delete(app);
        resolve();
      },
    };
  }

  /** Stops all deployments; they are resumed at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { run } of this.#runs.values()) run.stop();
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  /** Whether the command was received before. Throws when the disk is full and it was not. */
  #isKnown(deploymentId: string): boolean {
    const { store } = this.#services;
    if (store.deployment(deploymentId) || store.finalStatusOf(deploymentId)) return true;
    if (!store.isFull()) return false;
    throw new EdgeError("InsufficientDisk", "The device's disk is full: not even the request can be stored.");
  }

  #runsOn(app: string) {
    return [...this.#runs.values()].filter(({ run }) => run.record.app === app);
  }

  #launch(record: DeploymentRecord, options: { readonly isResumed: boolean; readonly announced?: "check" }): void {
    const run = new DeploymentRun({
      services: this.#services,
      record,
      concurrentDeployments: () => this.#concurrentWith(record),
      ...options,
    });
    const lease = this.#leases.get(record.app);
    const later = mustRollBack(record) ? this.#runsOn(record.app).map(({ ended }) => ended) : [];
    const before = lease ? [lease, ...later] : later;
    const running = before.length > 0 ? Promise.all(before).then(() => run.run()) : run.run();
    const ended = running.finally(() => {
      this.#runs.delete(record.id);
      this.#removeUnusedFiles(record);
    });
    this.#runs.set(record.id, { run, ended });
  }

  /** Removes the files of versions that are not in force any more. A rollback would place them again. */
  #removeUnusedFiles({ id, app }: DeploymentRecord): void {
    const { store, config, logger } = this.#services;
    if (this.#isRebuilding()) return;
    try {
      removeOtherPlaces(config.stateDir, usedPlaces(store));
    } catch (error) {
      logger.warn(
        { err: error, deployment: id, app },
        "files of earlier versions of apps could not be removed; it is tried again after the next deployment",
      );
    }
  }

  /** The record of a forgotten deployment whose app is installed, as after the app was adopted. */
  #recordOfApp({ deploymentId, spec, imageId, previousImageId }: AppRecord): DeploymentRecord {
    const action = previousImageId === undefined ? "deploy" : "update";
    const record = newRecord(deploymentId, this.#services.store.nextOrder(), spec);
    return { ...record, action, checked: true, imageId, committed: true, outcome: "succeeded" };
  }

  /** The record of a deployment unknown to the store, as when that was lost. It may have left a container. */
  #recordOfForgotten(deploymentId: string): DeploymentRecord {
    const { store } = this.#services;
    const record = newRecord(deploymentId, store.nextOrder(), undefined);
    return { ...record, touched: true, outcome: "succeeded" };
  }

  #concurrentWith(record: DeploymentRecord): ConcurrentDeployment[] {
    return (
      [...this.#runs.values()]
        .map(({ run }) => run.record)
        .filter(({ id, order, outcome }) => id !== record.id && order < record.order && outcome === "pending")
        // A dry run takes no port and no name.
        .filter(({ options }) => !options.dry_run)
        .flatMap(({ id, app, spec }) => (spec ? [{ id, app, hostPorts: hostPortsOf(spec) }] : []))
    );
  }
}

/** Returns the deployments whose files may be mounted: those of the apps, and of what is going on. */
export function usedPlaces(store: Pick<DeployServices["store"], "apps" | "deployments">): string[] {
  const pending = store.deployments().filter(({ outcome }) => outcome === "pending");
  return [
    ...store.apps().map(({ deploymentId }) => deploymentId),
    ...pending.flatMap(({ id, previous }) => (previous ? [id, previous.deploymentId] : [id])),
  ];
}

/** Returns the specification without the contents of its files, which the intake keeps. */
function toStoredSpec({ files, ...spec }: RequestedAppSpec, intake: FileIntake): AppSpec {
  if (!files || files.length === 0) return spec;
  const taken = intake.take(files, []);
  // The schema has seen to the contents and their size.
  if (taken instanceof EdgeError) throw taken;
  return { ...spec, files: [...taken] };
}

/** Whether a success has to be rolled back. */
function mustRollBack({ committed, failure }: DeploymentRecord): boolean {
  return committed && failure !== undefined;
}

/** Returns what may be logged of a specification: never the values of its environment. */
function logFields(spec: AppSpec) {
  return {
    ports: spec.ports.map(({ host_port, target_port }) => `${host_port}:${target_port}`),
    volumes: spec.volumes.length,
    variables: spec.environments.map(({ key }) => key),
    ...(spec.files && { files: spec.files.map(({ target }) => target) }),
    ...(spec.host_network && { host_network: true }),
    ...(spec.privileged && { privileged: true }),
  };
}
