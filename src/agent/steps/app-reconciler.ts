import { type Clock, unixNow } from "../../lib/clock.ts";
import { maskSecrets } from "../../lib/redact.ts";
import { hasAgentGivenName, LABELS, secretsOf } from "../core/app/container.ts";
import { type AppRecord, newRecord } from "../core/deployment/record.ts";
import { type AppContainer, nextRepair, type Repair, repairDelay } from "../core/app/repair.ts";
import type { ContainerSummary } from "../engine/engine.ts";
import { findManagedContainers } from "../engine/managed-containers.ts";
import { updateAppRecord } from "../store/update-app-record.ts";
import { adoptApps } from "./adopt-apps.ts";
import type { DeployServices } from "./context.ts";
import { isImageGone } from "./create.ts";
import { ImageFetcher } from "./image-fetcher.ts";
import { NO_CONTAINERS } from "./observe.ts";
import { PolicyEnforcer } from "./policy-enforcer.ts";
import { execute } from "./table.ts";
import { isEngineDown, maskError } from "./step-failure.ts";

const RECONCILE_INTERVAL_MS = 30_000;
/** An app that stayed up for so long after a repair starts with a clean record. */
const FAILURE_RESET_MS = 600_000;
// Removing surplus, removing a dead one, creating, starting: more in one go means that the engine does not do as told.
const MAX_REPAIR_STEPS = 6;

interface RepairAttempts {
  readonly failures: number;
  readonly lastTryAt: number;
}

/** A repair, and the app as it was on record when it was decided upon. */
interface DueRepair {
  readonly app: AppRecord;
  readonly repair: Repair;
}

const NO_IDS: ReadonlySet<string> = new Set();

export interface AppReconcilerOptions extends DeployServices {
  /** Takes an app to work on, until disposed; `undefined` while a deployment is at work on it: then it is left alone. */
  readonly lease: (app: string) => Disposable | undefined;
  /** Set while the store may not know every app there is. */
  readonly rebuild: { readonly isSet: boolean; clear(): void };
}

/**
 * Sees to it that installed apps run: after a power cut, without a network, after somebody removed or stopped a
 * container behind the agent's back. Uses only what is on the machine, through the same steps as a deployment; only
 * where that has not even the image any more, as after another engine took the place of the one there was, it is fetched.
 */
export class AppReconciler {
  readonly #options: AppReconcilerOptions;
  readonly #clock: Clock;
  readonly #attempts = new Map<string, RepairAttempts>();
  readonly #images: ImageFetcher;
  readonly #policyEnforcer: PolicyEnforcer;
  #engineState: "unknown" | "there" | "away" = "unknown";

  constructor(options: AppReconcilerOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#images = new ImageFetcher(options);
    this.#policyEnforcer = new PolicyEnforcer(options);
  }

  /** Looks after the apps until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.reconcile(signal).catch((error: unknown) => this.#logError(error, signal));
      await this.#clock.sleep(RECONCILE_INTERVAL_MS, signal).catch(() => {});
    }
    await this.#images.settled();
  }

  /** One look at every app, with the repairs it takes. Rejects when the engine cannot be asked. */
  async reconcile(signal: AbortSignal): Promise<void> {
    await this.#adopt(signal);
    const seen = await this.#options.engine.listContainers(signal);
    if (this.#engineState !== "there") await this.#logEngine(signal);
    // Before any repair: an app that the policy forbids must not run meanwhile, nor be started again.
    const installedBefore = this.#options.store.apps();
    const { deniedApps, hasChanged } = await this.#policyEnforcer.enforce(installedBefore, seen, signal);
    const containers = hasChanged ? await this.#options.engine.listContainers(signal) : seen;
    // Reading them is most of what an idle look costs. Whatever is done about one is decided anew under its lock.
    const apps = hasChanged ? this.#options.store.apps() : installedBefore;
    for (const app of apps) if (!deniedApps.has(app.name)) await this.#repair(app, containers, signal);
    const installed = new Set(apps.map(({ deploymentId }) => deploymentId));
    const others = containers.filter(({ labels }) => !installed.has(labels[LABELS.deployment] ?? ""));
    for (const container of others) await this.#removeStray(container, signal);
  }

  /** Says which engine it is, at the start and when it is back: without one nothing here can work. */
  async #logEngine(signal: AbortSignal): Promise<void> {
    const { kind, version } = await this.#options.engine.identify(signal);
    this.#options.logger.info({ engine: kind, engine_version: version }, "the container engine answers");
    this.#engineState = "there";
  }

  /**
   * Removes what an engine made late, when nothing of it was to be seen: of a deployment that had failed by then, or of
   * an app that had been removed or updated.
   */
  async #removeStray(container: ContainerSummary, signal: AbortSignal): Promise<void> {
    const { store, engine, logger, lease, rebuild, config } = this.#options;
    const { [LABELS.deployment]: deployment, [LABELS.app]: app } = container.labels;
    if (deployment === undefined || app === undefined || container.labels[LABELS.stateDir] !== config.stateDir) return;
    if (!hasAgentGivenName(container.name, app) || store.endOf(deployment) === undefined) return;
    using held = lease(app);
    if (!held) return;
    const [own] = await findManagedContainers([container], { engine, recorded: NO_IDS }, signal);
    if (!own || store.apps().some(({ deploymentId }) => deploymentId === deployment)) return;
    // Asked last: it may have been while reading the apps that one was found to be damaged, and is yet to be found again.
    if (rebuild.isSet) return;
    logger.warn({ deployment, app }, "a container was left of a deployment that is over; it is removed");
    await engine.removeContainer(own.id, signal);
  }

  async #adopt(signal: AbortSignal): Promise<void> {
    const { rebuild } = this.#options;
    if (!rebuild.isSet) return;
    await adoptApps(this.#options, signal);
    rebuild.clear();
  }

  async #repair(seen: AppRecord, all: readonly ContainerSummary[], signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    const history = this.#attempts.get(seen.name);
    if (history && now - history.lastTryAt > FAILURE_RESET_MS) this.#attempts.delete(seen.name);
    const failures = this.#attempts.get(seen.name)?.failures ?? 0;
    if (history && now - history.lastTryAt < repairDelay(failures)) return;
    if (this.#images.isFetching(seen)) return;
    if (!nextRepair(seen, await this.#appContainers(seen, all, signal))) return;
    using held = this.#options.lease(seen.name);
    if (!held) return;
    // What was seen so far may be over: a command may have been carried out since. Only what is so now counts.
    const due = await this.#findDueRepair(seen, signal);
    if (!due) return;
    const { app, repair } = due;
    this.#attempts.set(app.name, { failures: failures + 1, lastTryAt: now });
    const log = this.#options.logger.child({ app: app.name, deployment: app.deploymentId });
    try {
      await this.#applyRepairs(due, signal);
      log.info({ attempt: failures + 1 }, "app repaired");
      this.#recordRepair(app, repair.reason);
    } catch (error) {
      if (signal.aborted || isEngineDown(error)) throw error;
      if (isImageGone(error)) {
        this.#recordRepair(
          app,
          repair.reason,
          new Error("its image is not on the device any more; it is being fetched again"),
        );
        return this.#images.begin(app, signal);
      }
      const next = Math.round(repairDelay(failures + 1) / 1000);
      log.error(
        { err: maskError(error, secretsOf(app.spec)), attempt: failures + 1, next_try_s: next },
        "the app is not running and could not be repaired; it is tried again. Why: edge-agent app NAME",
      );
      this.#recordRepair(app, repair.reason, error);
    }
  }

  /** For whoever asks later why the app was not running. What is not noted is in the log. */
  #recordRepair(app: AppRecord, reason: string, error?: unknown): void {
    const { clock, store, logger } = this.#options;
    const text = error instanceof Error ? error.message : String(error);
    const masked = error === undefined ? {} : { error: maskSecrets(text, secretsOf(app.spec)).slice(0, 500) };
    const at = unixNow(clock);
    try {
      store.save({ historyEntry: { kind: "repair", app: app.name, at, reason, ...masked } });
    } catch (problem) {
      logger.warn(
        { err: problem, app: app.name },
        "a repair could not be noted in the history; the app is not affected. See: edge-agent doctor (disk, store)",
      );
    }
  }

  /** Does one repair after the other. Call with the app held. */
  async #applyRepairs(first: DueRepair, signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    let due: DueRepair | undefined = first;
    for (let steps = 0; due && steps < MAX_REPAIR_STEPS; steps++) {
      const { app, repair }: DueRepair = due;
      logger.warn({ app: app.name, step: repair.step.kind }, `repairing the app: ${repair.reason}`);
      const result = await execute(
        {
          ...this.#options,
          record: recordOf(app),
          observed: NO_CONTAINERS,
          concurrentDeployments: () => [],
          emit: () => {},
          signal,
        },
        repair.step,
      );
      if (result.failure) throw new Error(result.failure.message || result.failure.code);
      due = await this.#findDueRepair(app, signal);
    }
    if (due) throw new Error(`the app is still not as it should be after ${MAX_REPAIR_STEPS} steps`);
  }

  /**
   * What is to be done about the app, by the record and the containers there are now; nothing where it was cancelled or
   * changed meanwhile. Notes its container where that is another. Call with the app held: then it stays so.
   */
  async #findDueRepair(seen: AppRecord, signal: AbortSignal): Promise<DueRepair | undefined> {
    const { engine } = this.#options;
    const app = this.#findInstalled(seen);
    if (!app) return undefined;
    const containers = await this.#appContainers(app, await engine.listContainers(signal), signal);
    const containerId = containers[0]?.id ?? app.containerId;
    if (containerId !== app.containerId) this.#recordContainer(app, containerId);
    const current = this.#findInstalled(seen);
    const repair = current && nextRepair(current, containers);
    return repair && { app: current, repair };
  }

  #recordContainer(app: AppRecord, containerId: string): void {
    const { store, logger } = this.#options;
    try {
      updateAppRecord(store, app, (now) => ({ ...now, containerId }));
    } catch (problem) {
      // It is known by its labels and its name too.
      logger.warn(
        { err: problem, app: app.name },
        "an app's new container could not be noted; the app is not affected. See: edge-agent doctor (disk, store)",
      );
    }
  }

  /** The app's containers. How one ended is asked for only where that decides what follows. */
  async #appContainers(app: AppRecord, all: readonly ContainerSummary[], signal: AbortSignal): Promise<AppContainer[]> {
    const { engine } = this.#options;
    const labelled = all.filter(({ labels }) => labels[LABELS.deployment] === app.deploymentId);
    const containers = await findManagedContainers(labelled, { engine, recorded: new Set([app.containerId]) }, signal);
    const [container] = containers;
    if (app.spec.restart_policy !== "on-failure" || container?.status !== "exited") return containers;
    const state = await engine.inspectContainer(container.id, signal);
    return [{ ...container, exitCode: state?.exitCode }, ...containers.slice(1)];
  }

  /** The app as it is on record now; nothing where it was cancelled or changed by a deployment since it was read. */
  #findInstalled({ name, deploymentId }: AppRecord): AppRecord | undefined {
    return this.#options.store.apps().find((app) => app.name === name && app.deploymentId === deploymentId);
  }

  #logError(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const { logger } = this.#options;
    if (!isEngineDown(error))
      return logger.error(
        { err: error },
        "looking after the apps failed; it is tried again in 30 s, and they run meanwhile. If it stays so: edge-agent support-bundle FILE",
      );
    if (this.#engineState !== "away") {
      logger.warn(
        { reason: error.message },
        "the container engine does not answer; apps are looked after when it is back. See: edge-agent doctor; systemctl status docker",
      );
    }
    this.#engineState = "away";
  }
}

function recordOf(app: AppRecord) {
  return { ...newRecord(app.deploymentId, 0, app.spec), checked: true, imageId: app.imageId };
}
