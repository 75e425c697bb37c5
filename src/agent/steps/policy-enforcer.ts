import { bindsOf } from "../../protocol/apps/volume-fields.ts";
import { isUp } from "../core/app/container-decision.ts";
import type { RestartPolicy } from "../core/app/restart-policy.ts";
import { deadline, unixNow } from "../../lib/clock.ts";
import type { AppRecord } from "../core/records.ts";
import { restrictsMounts } from "../core/policy/mount-rules.ts";
import type { ContainerSummary } from "../engine/engine.ts";
import { findAppContainers } from "../engine/managed-containers.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { DeployServices } from "./context.ts";
import { findAppPolicyViolation, INSTALLED_ORDER, type PolicyServices, snapshotServices } from "./policy-check.ts";
import { stopGraceOf } from "./stop-grace.ts";
import { NO_CONTAINERS } from "./observe.ts";
import { isEngineDown } from "./step-failure.ts";
import { tryStart } from "./try-start.ts";

/** Learned value with the mount rules under which all apps were last started. */
const MOUNT_RULES_KEY = "policy-mounts";

/** How long the engine may take in addition to the stop grace period, in milliseconds. */
const RESTART_MARGIN_MS = 10_000;

export interface EnforcementResult {
  /** Names of apps that must not run, as the policy and the machine are now. */
  readonly deniedApps: ReadonlySet<string>;
  /** Whether any container was stopped, started or removed. */
  readonly hasChanged: boolean;
}

export interface PolicyEnforcerOptions extends DeployServices {
  /** Leases an app until disposed; `undefined` while a deployment is working on it. */
  readonly lease: (app: string) => Disposable | undefined;
}

/**
 * Stops installed apps that the current policy does not allow. It needs no lease for that: a container of a denied
 * specification must not run, whatever else is being done to the app.
 */
export class PolicyEnforcer {
  readonly #options: PolicyEnforcerOptions;
  /** The logged reason for each denied app, by name. Logged again only when it changes. */
  readonly #reportedDenials = new Map<string, string>();
  /** Deployment ids of apps that this process has restarted since the rules changed. */
  readonly #restarted = new Set<string>();

  constructor(options: PolicyEnforcerOptions) {
    this.#options = options;
  }

  /** @param apps those installed @param containers as the engine shows them now */
  async enforce(
    apps: readonly AppRecord[],
    containers: readonly ContainerSummary[],
    signal: AbortSignal,
  ): Promise<EnforcementResult> {
    const deniedApps = new Set<string>();
    const now = snapshotServices(this.#options);
    let hasChanged = false;
    for (const app of apps) {
      const found = await this.#findDenial(app, now, signal);
      if (found) deniedApps.add(app.name);
      else this.#reportAllowed(app);
      if (found && (await this.#tolerateEngineError(app, () => this.#stopApp(app, found, containers, signal))))
        hasChanged = true;
    }
    if (await this.#restartForChangedRules(deniedApps, signal)) hasChanged = true;
    return { deniedApps, hasChanged };
  }

  /** Returns `undefined` when the engine refused: a container that cannot be stopped must not block other apps. */
  async #tolerateEngineError(app: AppRecord, work: () => Promise<boolean>): Promise<boolean | undefined> {
    try {
      return await work();
    } catch (error) {
      if (isEngineDown(error) || !(error instanceof EngineError)) throw error;
      this.#options.logger.error(
        { err: error, app: app.name },
        "an app could not be stopped or started as the policy requires; it is tried again in 30 s. See: docker ps",
      );
      return undefined;
    }
  }

  /** A path that cannot be resolved, as on an unreachable network file system, is no reason to stop a running app. */
  async #findDenial(app: AppRecord, services: PolicyServices, signal: AbortSignal): Promise<string | undefined> {
    const found = await findAppPolicyViolation(services, app.spec, { phase: "run", order: INSTALLED_ORDER }, signal);
    return found?.isUnresolved ? undefined : found?.message;
  }

  #reportAllowed({ name, deploymentId }: AppRecord): void {
    if (!this.#reportedDenials.delete(name)) return;
    this.#options.logger.info({ app: name, deployment: deploymentId }, "the policy allows the app again");
  }

  async #stopApp(
    app: AppRecord,
    message: string,
    containers: readonly ContainerSummary[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const own = await this.#appContainers(app, containers, signal);
    const isRunning = own.some(({ status }) => isUp(status));
    if (this.#reportedDenials.get(app.name) !== message) {
      this.#reportedDenials.set(app.name, message);
      this.#reportDenial(app, message, isRunning);
    }
    const { engine, config } = this.#options;
    let hasChanged = false;
    for (const { id, status } of own) {
      const wasUp = isUp(status);
      if (wasUp) await engine.stopContainer(id, stopGraceOf(config, app.spec), signal);
      const mustGo = mayAutoRestart(app.spec.restart_policy, wasUp) && status !== "created";
      if (mustGo) await engine.removeContainer(id, signal);
      hasChanged ||= wasUp || mustGo;
    }
    return hasChanged;
  }

  #reportDenial({ name, deploymentId }: AppRecord, message: string, isRunning: boolean): void {
    const { logger, store, clock } = this.#options;
    logger.error(
      { app: name, deployment: deploymentId, why: message },
      "the device's policy does not allow an installed app; it is stopped until the policy allows it. See: edge-agent app NAME",
    );
    if (!isRunning) return;
    const at = unixNow(clock);
    try {
      store.save({
        historyEntry: {
          kind: "repair",
          app: name,
          at,
          reason: "the device's policy does not allow it; it was stopped",
          error: message,
        },
      });
    } catch (error) {
      logger.warn({ err: error, app: name }, "the stop of an app could not be added to the history");
    }
  }

  /**
   * Restarts apps with mounts once after the mount rules have changed. A running container's mounts were resolved when
   * it started; the paths may have been replaced since, which cannot be seen from outside.
   */
  async #restartForChangedRules(deniedApps: ReadonlySet<string>, signal: AbortSignal): Promise<boolean> {
    const { store, config, lease, logger } = this.#options;
    const isRestricted = restrictsMounts(config.policy);
    const rules = isRestricted ? JSON.stringify(config.policy.mounts) : "";
    if ((store.learnedValue(MOUNT_RULES_KEY) ?? "") === rules) return false;
    let [hasChanged, isComplete] = [false, true];
    const isDue = ({ spec, name, deploymentId }: AppRecord): boolean =>
      bindsOf(spec).length > 0 && !deniedApps.has(name) && !this.#restarted.has(deploymentId);
    const apps = isRestricted ? store.apps().filter(isDue) : [];
    for (const app of apps) {
      using appLease = lease(app.name);
      // A deployment working on the app restarts it, or keeps it as it is.
      const isRestarted = appLease && (await this.#tolerateEngineError(app, () => this.#restart(app, signal)));
      if (isRestarted === undefined) isComplete = false;
      else this.#restarted.add(app.deploymentId);
      if (isRestarted) hasChanged = true;
    }
    if (!isComplete) return hasChanged;
    try {
      store.saveLearnedValue(MOUNT_RULES_KEY, rules);
    } catch (error) {
      logger.warn(
        { err: error },
        "the restart of apps for new mount rules could not be stored; see: edge-agent doctor (disk)",
      );
    }
    return hasChanged;
  }

  async #appContainers(
    app: AppRecord,
    containers: readonly ContainerSummary[],
    signal: AbortSignal,
  ): Promise<ContainerSummary[]> {
    return findAppContainers(app, containers, this.#options.engine, signal);
  }

  /**
   * Restarts the app if it runs; returns whether it did. Must be called with a lease of the app. A container that was
   * stopped meanwhile is left to the reconciler.
   */
  async #restart(seen: AppRecord, signal: AbortSignal): Promise<boolean> {
    const { engine, config, store, logger, clock } = this.#options;
    const app = store.apps().find(({ name, deploymentId }) => name === seen.name && deploymentId === seen.deploymentId);
    if (!app || app.desired === "stopped") return false;
    const own = await this.#appContainers(app, await engine.listContainers(signal), signal);
    const up = own.filter(({ status }) => isUp(status));
    if (up.length === 0) return false;
    // An app that serves is stopped only for what can be expected to start.
    const trial = { deploymentId: app.deploymentId, order: INSTALLED_ORDER, observed: NO_CONTAINERS, signal };
    await tryStart({ ...this.#options, ...trial }, app.spec, app.imageId);
    logger.warn({ app: app.name }, "the mount rules have changed; an app that mounts directories is restarted once");
    for (const { id } of up) {
      signal.throwIfAborted();
      // Not aborted once begun: the engine does not start a stopped container again, and the agent may be stopping.
      const graceMs = stopGraceOf(config, app.spec);
      using limit = deadline(clock, graceMs + RESTART_MARGIN_MS);
      await engine.stopContainer(id, graceMs, limit.signal);
      if ((await this.#findDenial(app, this.#options, limit.signal)) !== undefined) continue;
      await engine.startContainer(id, limit.signal);
    }
    return true;
  }
}

/** Whether the engine starts the stopped container again when it is restarted itself. */
function mayAutoRestart(policy: RestartPolicy | undefined, wasUp: boolean): boolean {
  // A container that ended by itself without an error is not restarted.
  return policy === "always" || (policy === "on-failure" && wasUp);
}
