import { errorText } from "../../lib/error-text.ts";
import { type Clock, unixNow, pause } from "../../lib/clock.ts";
import { maskSecrets } from "../../lib/redact.ts";
import { foreignChange, foreignFields } from "../core/app/app-changes.ts";
import { isLeftover, isUp } from "../core/app/container-decision.ts";
import { hasAgentGivenName, hasTemporaryName, LABELS } from "../core/app/container.ts";
import { helperApp } from "../core/app/helper.ts";
import { type AppNetwork, networksOf } from "../core/app/networks.ts";
import { environmentValuesOf } from "../core/app/secrets.ts";
import { restartText } from "../core/deployment/failure.ts";
import type { AppRecord } from "../core/records.ts";
import { type AppContainer, nextRepair, type Repair, repairDelay } from "../core/deployment/repair.ts";
import type { ContainerSummary } from "../engine/engine.ts";
import { needsEngineRestart } from "../engine/engine-troubles.ts";
import { findAppContainers, findManagedContainers } from "../engine/managed-containers.ts";
import { removeUnusedFetched } from "../files/fetched-contents.ts";
import { removeOtherPlaces } from "../files/place.ts";
import { findMissingDevices } from "../host/host.ts";
import { CHECK_WORK, imageWork, repairWork } from "../store/crash-guard.ts";
import { updateAppRecord } from "../store/update-app-record.ts";
import { adoptApps } from "./adopt-apps.ts";
import type { ContainerStepContext, DeployServices } from "./context.ts";
import { usedPlaces } from "./deployments.ts";
import { EngineLook } from "./engine-look.ts";
import { isImageGone } from "./create.ts";
import { releaseNetworks } from "./networks.ts";
import { enginePrefix } from "../engine/engine-prefix.ts";
import { ImageFetcher } from "./image-fetcher.ts";
import { LeftoverSweeper } from "./leftovers.ts";
import { NO_CONTAINERS } from "./observe.ts";
import { PolicyEnforcer } from "./policy-enforcer.ts";
import { INSTALLED_ORDER } from "./policy-check.ts";
import { hasOwner, isCutOff } from "./shared-network.ts";
import { executeRepair } from "./table.ts";
import { isEngineDown, maskError } from "./step-failure.ts";

const RECONCILE_INTERVAL_MS = 30_000;
/** Attempts are forgotten after this time without one. Exceeds the longest delay between two attempts. */
const FAILURE_RESET_MS = 1_200_000;
// Remove surplus containers, remove a dead one, create, start. More steps mean that the engine does not do its work.
const MAX_REPAIR_STEPS = 6;
/** Characters that are kept of the reason why a repair failed. */
const MAX_ERROR_LENGTH = 500;

interface RepairAttempts {
  readonly failures: number;
  readonly lastTryAt: number;
  /** Device files of the app that were missing then. */
  readonly missingDevices: readonly string[];
  /** Why the last one failed, for people; `undefined` if it did not. */
  readonly error?: string | undefined;
}

/** A repair, and the app's record it was decided from. */
interface DueRepair {
  readonly app: AppRecord;
  readonly repair: Repair;
}

const FOREIGN_MESSAGE =
  "another tool has replaced the container of an app; it runs on, and counts as changed. To have the app as it was: echo '{}' | edge-agent update NAME -f -";

/** Returns the id of the app's container, as far as there is one that can run. */
function currentId(app: AppRecord, containers: readonly AppContainer[]): string {
  return containers.find(({ status }) => !isLeftover(status))?.id ?? app.containerId;
}

const NO_IDS: ReadonlySet<string> = new Set();

export interface AppReconcilerOptions extends DeployServices {
  /** Leases an app until disposed; `undefined` while a deployment is working on it: then it is left alone. */
  readonly lease: (app: string) => Disposable | undefined;
  /** How many deployments have ended since the start. */
  readonly endedRuns: () => number;
  /** Set while the store may not know every app. */
  readonly rebuild: { readonly isSet: boolean; clear(): void };
}

/**
 * Keeps installed apps running: after a power cut, without a network, and after a container was removed or stopped by
 * others. Repairs use the steps of a deployment and only images on the device; an image is fetched only if the engine
 * has lost it.
 */
export class AppReconciler {
  readonly #options: AppReconcilerOptions;
  readonly #clock: Clock;
  readonly #attempts = new Map<string, RepairAttempts>();
  readonly #images: ImageFetcher;
  readonly #policyEnforcer: PolicyEnforcer;
  readonly #leftovers: LeftoverSweeper;
  readonly #engineLook: EngineLook;
  #engineState: "unknown" | "up" | "down" = "unknown";
  #hasSweptFiles = false;
  /** `endedRuns` when unused networks were removed last. */
  #releasedAfter: number | undefined;

  constructor(options: AppReconcilerOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#engineLook = new EngineLook(options);
    this.#images = new ImageFetcher(options);
    this.#policyEnforcer = new PolicyEnforcer(options);
    this.#leftovers = new LeftoverSweeper(options);
  }

  /** Reconciles at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.reconcile(signal).catch((error: unknown) => this.#logError(error, signal));
      await pause(this.#clock, RECONCILE_INTERVAL_MS, signal);
    }
    await this.#images.settled();
  }

  /** Why an app could not be brought back when that was tried last; `undefined` if it was, or nothing was tried. */
  failureOf(app: string): string | undefined {
    return this.#attempts.get(app)?.error;
  }

  /** Checks and repairs every app once. Rejects when the engine does not answer. */
  async reconcile(signal: AbortSignal): Promise<void> {
    await this.#options.crashGuard.run(CHECK_WORK, () => this.#reconcile(signal), signal);
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    await this.#adopt(signal);
    this.#sweepFiles();
    const listed = await this.#options.engine.listContainers(signal);
    if (this.#engineState !== "up") await this.#logEngine(signal);
    // Before any repair: an app that the policy denies must not run or be started.
    const installedBefore = this.#options.store.apps();
    const { deniedApps, hasChanged } = await this.#policyEnforcer.enforce(installedBefore, listed, signal);
    const containers = hasChanged ? await this.#options.engine.listContainers(signal) : listed;
    // Reading the apps is most of the cost of an idle round. Each repair is decided again under the app's lease.
    const apps = hasChanged ? this.#options.store.apps() : installedBefore;
    const allowed = apps.filter(({ name }) => !deniedApps.has(name));
    for (const app of allowed.filter((app) => !hasOwner(app))) await this.#repair(app, containers, signal);
    // What has the network of another app is seen with what became of that.
    const sharing = allowed.filter(hasOwner);
    const after = sharing.length > 0 ? await this.#options.engine.listContainers(signal) : containers;
    for (const app of sharing) await this.#repair(app, after, signal);
    const installed = new Set(apps.map(({ deploymentId }) => deploymentId));
    const others = containers.filter(({ labels }) => !installed.has(labels[LABELS.deployment] ?? ""));
    for (const container of others) await this.#removeStray(container, signal);
    await this.#leftovers.sweep(containers, signal);
    await this.#engineLook.round(apps, signal);
    await this.#releaseNetworks(signal);
  }

  #stepOf({ deploymentId }: AppRecord): Pick<ContainerStepContext, "deploymentId" | "order" | "observed"> {
    return { deploymentId, order: INSTALLED_ORDER, observed: NO_CONTAINERS };
  }

  /**
   * Removes networks that a deployment left, which a crash or a cancellation had kept from doing so: after the start, and
   * after each deployment. Otherwise it asks the engine nothing.
   */
  async #releaseNetworks(signal: AbortSignal): Promise<void> {
    const { endedRuns, rebuild } = this.#options;
    const ended = endedRuns();
    if (ended === this.#releasedAfter || rebuild.isSet) return;
    if (await releaseNetworks({ ...this.#options, signal })) this.#releasedAfter = ended;
  }

  /** Logs the engine's kind and version, at the start and when it answers again. */
  async #logEngine(signal: AbortSignal): Promise<void> {
    const { kind, version } = await this.#options.engine.identify(signal);
    this.#options.logger.info({ engine: kind, engine_version: version }, "the container engine answers");
    this.#engineState = "up";
  }

  /**
   * Removes a container that the engine created late: of a deployment that had failed by then, or of an app that had
   * been removed or updated.
   */
  async #removeStray(container: ContainerSummary, signal: AbortSignal): Promise<void> {
    const { store, engine, logger, lease, rebuild, config } = this.#options;
    const { [LABELS.deployment]: deployment, [LABELS.app]: app } = container.labels;
    const helped = helperApp(container, config.stateDir);
    if (helped !== undefined) {
      using inUse = lease(helped);
      // While a deployment works on the app, the helper is its own.
      if (inUse) await engine.removeContainer(container.id, signal);
      return;
    }
    if (deployment === undefined || app === undefined || container.labels[LABELS.stateDir] !== config.stateDir) return;
    if (!hasAgentGivenName(container.name, app) || !this.#isOver(container, { deployment, app })) return;
    using appLease = lease(app);
    if (!appLease) return;
    const [own] = await findManagedContainers([container], { engine, recorded: NO_IDS }, signal);
    if (!own || store.apps().some(({ deploymentId }) => deploymentId === deployment)) return;
    // Checked last: reading the apps may have found a damaged record, whose app has yet to be adopted.
    if (rebuild.isSet) return;
    logger.warn({ deployment, app }, "a container of a deployment that is over was found; it is removed");
    await this.#leftovers.remove(own.id, app, signal);
  }

  /**
   * Whether the deployment of a container has ended. The history may have forgotten that of an old version, which an update
   * could not remove after its success.
   */
  #isOver({ name, status }: ContainerSummary, { deployment, app }: { deployment: string; app: string }): boolean {
    const { store } = this.#options;
    if (store.finalStatusOf(deployment) !== undefined) return true;
    const isReplaced = hasTemporaryName(name, app) && !isUp(status) && store.apps().some((other) => other.name === app);
    return isReplaced && store.deployment(deployment) === undefined;
  }

  async #adopt(signal: AbortSignal): Promise<void> {
    const { rebuild } = this.#options;
    if (!rebuild.isSet) return;
    if (await adoptApps(this.#options, signal)) rebuild.clear();
  }

  /**
   * Removes, once, the files of deployments that ended while the agent did not run; and what was fetched for one of which nothing is
   * left to report.
   */
  #sweepFiles(): void {
    const { store, config, rebuild } = this.#options;
    if (rebuild.isSet) return;
    removeUnusedFetched(config.stateDir, store);
    if (this.#hasSweptFiles) return;
    this.#hasSweptFiles = true;
    removeOtherPlaces(config.stateDir, usedPlaces(store));
  }

  async #repair(seen: AppRecord, all: readonly ContainerSummary[], signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    const last = this.#attempts.get(seen.name);
    if (last && now - last.lastTryAt > FAILURE_RESET_MS) this.#attempts.delete(seen.name);
    const failures = this.#attempts.get(seen.name)?.failures ?? 0;
    if (last && now - last.lastTryAt < repairDelay(failures) && !(await this.#hasDevicesAgain(seen, last))) return;
    const { crashGuard } = this.#options;
    if (this.#images.isFetching(seen) || crashGuard.held(repairWork(seen.name))) return;
    const containers = await this.#appContainers(seen, all, signal);
    if (currentId(seen, containers) === seen.containerId && !nextRepair(seen, containers, this.#networks(seen))) return;
    using appLease = this.#options.lease(seen.name);
    if (!appLease) return;
    // A command may have been carried out since: the decision is made again under the lease.
    const due = await this.#findDueRepair(seen, signal);
    if (!due) return;
    this.#attempts.set(due.app.name, {
      failures: failures + 1,
      lastTryAt: now,
      missingDevices: [],
      error: last?.error,
    });
    await crashGuard.run(repairWork(seen.name), () => this.#carryOut(due, failures + 1, signal), signal);
  }

  /** A device that was plugged in again is used at once, however long the pause is. */
  async #hasDevicesAgain({ spec }: AppRecord, { missingDevices }: RepairAttempts): Promise<boolean> {
    return missingDevices.length > 0 && (await findMissingDevices(spec, this.#options.host)).length === 0;
  }

  /** Must be called with a lease of the app. */
  async #carryOut(due: DueRepair, attempt: number, signal: AbortSignal): Promise<void> {
    const { app, repair } = due;
    const log = this.#options.logger.child({ app: app.name, deployment: app.deploymentId });
    try {
      await this.#applyRepairs(due, signal);
      log.info({ attempt }, "app repaired");
      this.#noteAttempt(app, attempt);
      this.#recordRepair(app, repair.reason);
    } catch (error) {
      if (signal.aborted || isEngineDown(error)) throw error;
      if (isImageGone(error)) {
        const held = this.#options.crashGuard.held(imageWork(app.name));
        const next = held
          ? `it is fetched again after a pause, since ${held.text} during that`
          : "it is being fetched again";
        const lack = `its image is not on the device any more; ${next}`;
        this.#noteAttempt(app, attempt, { error: lack });
        this.#recordRepair(app, repair.reason, lack);
        return held ? undefined : this.#images.begin(app, signal);
      }
      const missingDevices = await findMissingDevices(app.spec, this.#options.host);
      const text = needsEngineRestart(error) ? restartText(error.kind) : errorText(error);
      const masked = maskSecrets(text, environmentValuesOf(app.spec)).slice(0, MAX_ERROR_LENGTH);
      this.#noteAttempt(app, attempt, { error: masked, missingDevices });
      const next = Math.round(repairDelay(attempt) / 1000);
      log.error(
        { err: maskError(error, environmentValuesOf(app.spec)), attempt, next_try_s: next },
        "the app is not running and could not be repaired; it is tried again. See: edge-agent app NAME",
      );
      this.#recordRepair(app, repair.reason, masked);
    }
  }

  #noteAttempt({ name }: AppRecord, failures: number, outcome: Partial<RepairAttempts> = {}): void {
    this.#attempts.set(name, { failures, lastTryAt: this.#clock.monotonic(), missingDevices: [], ...outcome });
  }

  /** Adds the repair to the history, which explains later why the app was not running. */
  #recordRepair(app: AppRecord, reason: string, error?: string): void {
    const { clock, store, logger } = this.#options;
    const at = unixNow(clock);
    try {
      store.save({
        historyEntry: { kind: "repair", app: app.name, at, reason, ...(error !== undefined && { error }) },
      });
    } catch (problem) {
      logger.warn(
        { err: problem, app: app.name },
        "a repair could not be added to the history; the app is not affected. See: edge-agent doctor (disk, store)",
      );
    }
  }

  /** Makes one repair after the other. Must be called with a lease of the app. */
  async #applyRepairs(first: DueRepair, signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    let due: DueRepair | undefined = first;
    for (let steps = 0; due && steps < MAX_REPAIR_STEPS; steps++) {
      const { app, repair }: DueRepair = due;
      logger.warn({ app: app.name, step: repair.step.kind }, `repairing the app: ${repair.reason}`);
      const result = await executeRepair({ ...this.#options, ...this.#stepOf(app), signal }, repair.step);
      for (const { message } of result.events ?? []) logger.info({ app: app.name }, message);
      if (result.failure) throw new Error(result.failure.message);
      due = await this.#findDueRepair(app, signal);
    }
    if (due) throw new Error(`the app still needs a repair after ${MAX_REPAIR_STEPS} steps`);
  }

  /**
   * Returns the next repair from the current record and containers; `undefined` if none is due, or if the app was
   * cancelled or changed meanwhile. Stores the id of the app's container if that has changed. Must be called with a lease
   * of the app.
   */
  async #findDueRepair(seen: AppRecord, signal: AbortSignal): Promise<DueRepair | undefined> {
    const { engine } = this.#options;
    const app = this.#findInstalled(seen);
    if (!app) return undefined;
    const containers = await this.#appContainers(app, await engine.listContainers(signal), signal);
    const containerId = currentId(app, containers);
    if (containerId !== app.containerId) await this.#recordContainer(app, containerId, signal);
    const current = this.#findInstalled(seen);
    const repair = current && nextRepair(current, containers, this.#networks(current));
    return repair && { app: current, repair };
  }

  #networks({ spec }: AppRecord): readonly AppNetwork[] {
    return networksOf(spec, enginePrefix(this.#options.config.stateDir));
  }

  /** One that another tool has made runs on, and the app counts as changed until it is updated or made anew. */
  async #recordContainer(app: AppRecord, containerId: string, signal: AbortSignal): Promise<void> {
    const { engine, store, logger, clock } = this.#options;
    const config = await engine.readContainerConfig(containerId, signal);
    const foreign = config && foreignChange(foreignFields(app, config), unixNow(clock));
    if (foreign) logger.warn({ app: app.name, changed: foreign.what }, FOREIGN_MESSAGE);
    try {
      updateAppRecord(store, app, (now) => {
        const changed = foreign ?? (now.changed?.by === "foreign" ? undefined : now.changed);
        return { ...now, containerId, changed };
      });
    } catch (problem) {
      // The container is also found by its labels and its name.
      logger.warn(
        { err: problem, app: app.name },
        "the id of an app's new container could not be stored; the app is not affected. See: edge-agent doctor (disk, store)",
      );
    }
  }

  /** Lists the app's containers. How the last run ended is read only if the repair depends on it. */
  async #appContainers(app: AppRecord, all: readonly ContainerSummary[], signal: AbortSignal): Promise<AppContainer[]> {
    const { engine } = this.#options;
    const containers = await findAppContainers(app, all, engine, signal);
    const [container] = containers;
    if (!container) return [];
    const isOver = app.spec.restart_policy === "on-failure" && container.status === "exited";
    const lastRun = isOver ? await engine.inspectContainer(container.id, signal) : undefined;
    const cutOff = await isCutOff(app, container, all, { ...this.#options, signal });
    return [{ ...container, lastRun, ...(cutOff && { isCutOff: true }) }, ...containers.slice(1)];
  }

  /** Returns the app's current record; `undefined` if a deployment has changed or removed the app since. */
  #findInstalled({ name, deploymentId }: AppRecord): AppRecord | undefined {
    return this.#options.store.apps().find((app) => app.name === name && app.deploymentId === deploymentId);
  }

  #logError(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const { logger } = this.#options;
    if (!isEngineDown(error))
      return logger.error(
        { err: error },
        "the apps could not be checked; they keep running, and the check is tried again in 30 s. If this persists: edge-agent support-bundle FILE",
      );
    if (this.#engineState !== "down") {
      logger.warn(
        { reason: error.message },
        "the container engine does not answer; apps are repaired when it answers again. See: edge-agent doctor; systemctl status docker",
      );
    }
    this.#engineState = "down";
  }
}
