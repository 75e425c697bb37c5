import type { DeployOptions } from "../../protocol/apps/deploy-request.ts";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { accept, acceptNew, type ChangeRequest, followersOf, toRequestFailure } from "../core/deployment/accept.ts";
import { type CancelReason, cancelledBecause } from "../core/deployment/cancelled.ts";
import { stepEvents } from "../core/deployment/step-events.ts";
import type { ConcurrentDeployment } from "../core/deployment/check.ts";
import { type AppRecord, type DeploymentRecord, newRecord } from "../core/records.ts";
import { hostPortsOf } from "../core/host/host-port.ts";
import { acceptGroup } from "../core/apply/accept-group.ts";
import { requestedDeploymentId } from "../core/apply/child-id.ts";
import { KeptImages } from "../store/kept-images.ts";
import { FileIntake } from "../files/intake.ts";
import { removeUnusedFiles } from "../files/place.ts";
import type { CommandHandler } from "../link/ports.ts";
import type { DeployServices } from "./context.ts";
import { DeploymentRun, type RunOptions } from "./deployment-run.ts";
import { checkingGroup, GroupRun } from "./group-run.ts";
import { afterCrashes, mustRollBack, planResumption, workOf } from "./resumption.ts";

interface ActiveRun {
  readonly run: DeploymentRun;
  readonly ended: Promise<void>;
  /** Ids of the groups whose end it waits for. */
  readonly awaitedGroups: readonly string[];
  /** Whether it only waits, as for the data budget. */
  isWaiting: boolean;
}

interface ActiveGroup {
  readonly run: GroupRun;
  readonly ended: Promise<void>;
}

type Origin = DeploymentRecord["origin"];

/** All deployments of the device: accepts commands, runs them concurrently, and resumes them after a restart. */
export class DeviceDeployments implements Omit<CommandHandler, "updateAgent">, AsyncDisposable {
  readonly #services: DeployServices;
  readonly #isRebuilding: () => boolean;
  readonly #runs = new Map<string, ActiveRun>();
  readonly #groups = new Map<string, ActiveGroup>();
  #endedRuns = 0;
  /** Apps under a lease, and when each lease ends. */
  readonly #leases = new Map<string, Promise<void>>();
  readonly #stopped = new AbortController();

  /** @param isRebuilding whether the store may not know every app there is */
  constructor(services: DeployServices, isRebuilding: () => boolean = () => false) {
    this.#services = services;
    this.#isRebuilding = isRebuilding;
  }

  /**
   * Resumes pending deployments, or gives up those that the agent has crashed during too often. Must be called once, before
   * commands arrive.
   */
  resume(): void {
    const { groups, deployments } = planResumption(this.#services);
    for (const group of groups) this.#launchGroup(group, { isResumed: true });
    for (const record of deployments) this.#launch(record, { isResumed: true });
  }

  deploy(deploymentId: string, input: unknown, options: DeployOptions = {}, origin: Origin = "control_plane"): void {
    const { store, logger } = this.#services;
    if (this.#isKnown(deploymentId)) return;
    const [intake, order] = [this.#newIntake(), store.nextOrder()];
    const spec = acceptNew(input, intake.take);
    if (spec instanceof EdgeError) {
      const record = { ...newRecord(deploymentId, order, undefined, toRequestFailure(spec)), origin };
      store.save({ deployment: record });
      this.#launch(record, { isResumed: false });
      return;
    }
    const record = intake.withFetches({ ...newRecord(deploymentId, order, spec), options, origin });
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
    const activeDeploymentId = this.#activeOn(app);
    if (!installed && activeDeploymentId === undefined && this.#isRebuilding()) throw rebuildingError();
    const intake = this.#newIntake();
    const followers = followersOf(app, store.apps());
    const at = { id: deploymentId, order: store.nextOrder(), origin, installed, activeDeploymentId, followers };
    const record = intake.withFetches(accept(request, { ...at, takeFiles: intake.take }));
    store.save({ deployment: record, ...(!record.failure && { fileContents: intake.contents }) });
    const { spec } = record;
    logger.info({ deployment: deploymentId, app, action, ...(spec && logFields(spec)) }, "change of an app accepted");
    this.#launch(record, { isResumed: false });
  }

  apply(deploymentId: string, request: unknown, options: DeployOptions = {}, origin: Origin = "control_plane"): void {
    const { store, logger } = this.#services;
    if (this.#isKnown(deploymentId)) return;
    if (this.#isRebuilding()) throw rebuildingError();
    const intake = this.#newIntake();
    const { group, keptImages, ...accepted } = acceptGroup(request, {
      id: deploymentId,
      order: store.nextOrder(),
      origin,
      options,
      apps: store.apps(),
      activeDeploymentOf: (app) => this.#activeOn(app),
      takeFiles: intake.take,
    });
    const children = accepted.children.map((child) => intake.withFetches(child));
    // Before the group is stored: the first clean-up after it counts them.
    if (keptImages) new KeptImages(store).replace(keptImages);
    if (group.failure) store.save({ deployment: group });
    else store.save({ deployment: group, children, events: [checkingGroup(children)], fileContents: intake.contents });
    const apps = children.map(({ app, action }) => `${action} ${app}`);
    logger.info({ deployment: deploymentId, project: group.app, apps }, "group of apps accepted");
    this.#launchGroup(group);
  }

  cancel(deploymentId: string, reason: CancelReason): void {
    const failure = cancelledBecause(reason);
    const active = this.#runs.get(deploymentId) ?? this.#groups.get(deploymentId);
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
    if (!known) this.#cancelForgottenApps(deploymentId, reason);
    const record = known ?? this.#recordOfForgotten(deploymentId);
    const cancelled: DeploymentRecord = { ...record, outcome: "pending", failure };
    store.save({ deployment: cancelled });
    if (cancelled.action === "apply") this.#launchGroup(cancelled);
    else this.#launch(cancelled, { isResumed: false });
  }

  openDeployments(): readonly string[] {
    const { store } = this.#services;
    return store.deployments().flatMap(({ id, origin, group }) => (origin === "control_plane" && !group ? [id] : []));
  }

  /** Whether a deployment is working on the app, or has changed it and waits for others of its group. */
  isBusy(app: string): boolean {
    if (this.#runsOn(app).length > 0) return true;
    return [...this.#groups.values()].some(({ run }) =>
      run.children.some((child) => child.app === app && child.touched && child.outcome === "pending"),
    );
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

  /** Whether a deployment is doing something, and not only waiting. */
  get isWorking(): boolean {
    return [...this.#runs.values()].some(({ isWaiting }) => !isWaiting);
  }

  /** How many deployments have ended since the start: each may have left something that no app needs any more. */
  get endedRuns(): number {
    return this.#endedRuns;
  }

  /** Stops all deployments; they are resumed at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort(new DOMException("the agent is stopping", "AbortError"));
    const all = [...this.#groups.values(), ...this.#runs.values()];
    for (const { run } of all) run.stop();
    await Promise.all(all.map(({ ended }) => ended));
  }

  #newIntake(): FileIntake {
    const { store, config } = this.#services;
    return new FileIntake(store, config.stateDir, config.policy.max_files_bytes);
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

  /** The runs that a rollback of a success waits for: all on its app, except one that waits for the rollback's own group. */
  #runsBefore({ app, group }: DeploymentRecord): ActiveRun[] {
    return this.#runsOn(app).filter(({ awaitedGroups }) => !group || !awaitedGroups.includes(group.id));
  }

  /** The groups accepted later that work on the app, or are going to. */
  #laterGroups({ app, order, group: own }: DeploymentRecord): ActiveGroup[] {
    return [...this.#groups.values()].filter(
      ({ run }) =>
        run.record.id !== own?.id && run.record.order > order && run.children.some((child) => child.app === app),
    );
  }

  /** The deployment, or group, that is working on the app or is going to, except dry runs. */
  #activeOn(app: string): string | undefined {
    const inGroups = [...this.#groups.values()].flatMap(({ run }) => run.children);
    const active = [...[...this.#runs.values()].map(({ run }) => run.record), ...inGroups].find(
      (record) => record.app === app && !record.options.dry_run,
    );
    return active && (active.group?.id ?? active.id);
  }

  #launch(record: DeploymentRecord, options: { readonly isResumed: boolean; readonly announced?: "check" }): void {
    void this.#begin(this.#createRun(record, options), options.isResumed ? this.#turn(record) : undefined);
  }

  /** When a resumed deployment may begin; `undefined` if it may at once. */
  #turn(record: DeploymentRecord): Promise<void> | undefined {
    return this.#services.crashGuard.turn(workOf(record), this.#stopped.signal);
  }

  #createRun(
    record: DeploymentRecord,
    options: Omit<RunOptions, "services" | "record" | "concurrentDeployments" | "onWaiting">,
  ) {
    const concurrentDeployments = () => this.#concurrentWith(record);
    const onWaiting = (isWaiting: boolean): void => this.#onWaiting(record, isWaiting);
    return new DeploymentRun({ services: this.#services, record, concurrentDeployments, onWaiting, ...options });
  }

  /** A deployment waits while all that works on it waits: one app's, or those of its group. */
  #onWaiting(record: DeploymentRecord, isWaiting: boolean): void {
    const { crashGuard } = this.#services;
    const active = this.#runs.get(record.id);
    if (!active || active.isWaiting === isWaiting) return;
    active.isWaiting = isWaiting;
    const work = workOf(record);
    const all = [...this.#runs.values()].filter(({ run }) => workOf(run.record) === work);
    if (all.every((other) => other.isWaiting)) crashGuard.rest(work);
    else crashGuard.wake(work);
  }

  /**
   * Resolves when the deployment has ended, has parked, or was stopped.
   *
   * @param turn when it may begin
   */
  #begin(run: DeploymentRun, turn?: Promise<void>): Promise<void> {
    const { record } = run;
    const lease = this.#leases.get(record.app);
    const awaitedGroups = mustRollBack(record) ? this.#laterGroups(record) : [];
    const later = mustRollBack(record) ? [...this.#runsBefore(record), ...awaitedGroups] : [];
    const ends = later.map(({ ended: end }) => end);
    const before = [...(turn ? [turn] : []), ...(lease ? [lease] : []), ...ends];
    const running = before.length > 0 ? Promise.all(before).then(() => run.run()) : run.run();
    const ended = running.finally(() => {
      this.#runs.delete(record.id);
      this.#endWork(run.record);
      this.#endedRuns++;
      this.#removeUnusedFiles(record);
    });
    const groupIds = awaitedGroups.map((group) => group.run.record.id);
    this.#runs.set(record.id, { run, ended, awaitedGroups: groupIds, isWaiting: false });
    return ended;
  }

  /** A deployment that has ended is not counted any more; that of a group's app counts as the group's. */
  #endWork(record: DeploymentRecord): void {
    if (record.outcome !== "pending" && !record.group) this.#services.crashGuard.end(workOf(record));
  }

  /** @param group its own record; those of its apps are in the store */
  #launchGroup(group: DeploymentRecord, { isResumed = false } = {}): void {
    const stored = this.#services.store.deployments().filter(({ group: own }) => own?.id === group.id);
    const children = isResumed ? stored.map((child) => afterCrashes(child, this.#services)) : stored;
    const turn = isResumed ? this.#turn(group) : undefined;
    const run = new GroupRun({
      services: this.#services,
      record: group,
      children,
      createRun: (record, options) => this.#createRun(record, { isResumed: false, ...options }),
      begin: (child) => this.#begin(child),
    });
    const running = turn ? turn.then(() => run.run()) : run.run();
    const ended = running.finally(() => {
      this.#groups.delete(group.id);
      this.#endWork(run.record);
    });
    this.#groups.set(group.id, { run, ended });
  }

  /** Undoes what is left of a group that the store does not know any more, as when it was lost. */
  #cancelForgottenApps(groupId: string, reason: CancelReason): void {
    for (const { deploymentId } of this.#services.store.apps()) {
      const isOfGroup = deploymentId !== groupId && requestedDeploymentId(deploymentId) === groupId;
      if (isOfGroup) this.cancel(deploymentId, reason);
    }
  }

  /** Removes the files of versions that are not in force any more. A rollback would place them again. */
  #removeUnusedFiles({ id, app }: DeploymentRecord): void {
    const { store, config, logger } = this.#services;
    if (this.#isRebuilding()) return;
    try {
      removeUnusedFiles(config.stateDir, usedPlaces(store), store);
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

  /**
   * A group holds the ports and names of all its apps until it has ended, those they had before included: it may go back.
   */
  #concurrentWith(own: DeploymentRecord): ConcurrentDeployment[] {
    const inGroups = [...this.#groups.values()].flatMap(({ run }) => run.children);
    const records = [...this.#runs.values()].map(({ run }) => run.record).filter(({ group }) => !group);
    return (
      [...records.filter(({ outcome }) => outcome === "pending"), ...inGroups]
        .filter(({ id, order, group }) => id !== own.id && order < own.order && (!group || group.id !== own.group?.id))
        // A dry run takes no port and no name.
        .filter(({ options }) => !options.dry_run)
        .flatMap(({ id, app, spec, previous, group }) => {
          const specs = [spec, group && previous?.spec].filter((held) => held !== undefined);
          return specs.length > 0 ? [{ id: group?.id ?? id, app, hostPorts: specs.flatMap(hostPortsOf) }] : [];
        })
    );
  }
}

function rebuildingError(): EdgeError {
  return new EdgeError("EngineUnavailable", "The agent is looking for its apps on the engine; try again shortly.");
}

/** Returns the deployments whose files may be mounted: those of the apps, and of what is going on. */
export function usedPlaces(store: Pick<DeployServices["store"], "apps" | "deployments">): string[] {
  const all = store.deployments();
  const pending = all.filter(({ outcome }) => outcome === "pending");
  const groups = new Set(pending.map(({ id }) => id));
  // An app of a group that is going on may go back, also after its own deployment has ended.
  const ended = all.filter(({ outcome, group }) => outcome !== "pending" && group && groups.has(group.id));
  return [
    ...store.apps().map(({ deploymentId }) => deploymentId),
    ...[...pending, ...ended].flatMap(({ id, previous }) => (previous ? [id, previous.deploymentId] : [id])),
  ];
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
