import { deadline, unixNow } from "../../lib/clock.ts";
import { LABELS } from "../core/app/container.ts";
import type { AppRecord } from "../core/deployment/record.ts";
import { restrictsMounts } from "../core/policy/mount-rules.ts";
import type { ContainerSummary } from "../engine/engine.ts";
import { findManagedContainers } from "../engine/managed-containers.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { DeployServices } from "./context.ts";
import { findAppPolicyViolation, type PolicyServices, snapshotServices } from "./policy-check.ts";
import { isEngineDown } from "./step-failure.ts";

/** Name under which the mount rules are remembered that all apps were last started under. */
const MOUNT_RULES_KEY = "policy-mounts";

/** How long the engine may take beside the app's own time to end, in milliseconds. */
const RESTART_MARGIN_MS = 10_000;

/** In these the engine runs a container, or may do so by itself. */
const UP_STATUSES: ReadonlySet<string> = new Set(["running", "restarting", "paused"]);

export interface EnforcementResult {
  /** Names of apps that must not run, as the policy and the machine are now. */
  readonly deniedApps: ReadonlySet<string>;
  /** Whether any container was stopped, started or removed. */
  readonly hasChanged: boolean;
}

export interface PolicyEnforcerOptions extends DeployServices {
  /** Takes an app to work on, until disposed; `undefined` while a deployment is at work on it. */
  readonly lease: (app: string) => Disposable | undefined;
}

/**
 * Stops installed apps that the policy in force does not allow. It needs no lock for that: whatever is done to such an
 * app at the moment, a container made of a forbidden specification must not run.
 */
export class PolicyEnforcer {
  readonly #options: PolicyEnforcerOptions;
  /** Why apps are not started, by name: said once, and again when it is something else. */
  readonly #reportedDenials = new Map<string, string>();
  /** Apps that this process has restarted since the rules changed. */
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
    const forbidden = new Set<string>();
    const now = snapshotServices(this.#options);
    let hasChanged = false;
    for (const app of apps) {
      const found = await this.#findDenial(app, now, signal);
      if (found) forbidden.add(app.name);
      else this.#reportAllowed(app);
      if (found && (await this.#tolerateEngineError(app, () => this.#stopApp(app, found, containers, signal))))
        hasChanged = true;
    }
    if (await this.#restartForChangedRules(forbidden, signal)) hasChanged = true;
    return { deniedApps: forbidden, hasChanged };
  }

  /** Returns `undefined` where the engine refused: one container it cannot stop does not keep others from being looked after. */
  async #tolerateEngineError(app: AppRecord, work: () => Promise<boolean>): Promise<boolean | undefined> {
    try {
      return await work();
    } catch (error) {
      if (isEngineDown(error) || !(error instanceof EngineError)) throw error;
      this.#options.logger.error(
        { err: error, app: app.name },
        "an app could not be stopped or started as the policy demands; it is tried again in 30 s. See: docker ps",
      );
      return undefined;
    }
  }

  /** A path that cannot be examined, such as one on a network that is away, is no reason to stop what runs. */
  async #findDenial(app: AppRecord, services: PolicyServices, signal: AbortSignal): Promise<string | undefined> {
    const found = await findAppPolicyViolation(services, app.spec, { phase: "run", order: 0 }, signal);
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
    const isUp = own.some(({ status }) => UP_STATUSES.has(status));
    if (this.#reportedDenials.get(app.name) !== message) {
      this.#reportedDenials.set(app.name, message);
      this.#reportDenial(app, message, isUp);
    }
    const { engine, config } = this.#options;
    let hasChanged = false;
    for (const { id, status } of own) {
      const wasUp = UP_STATUSES.has(status);
      if (wasUp) await engine.stopContainer(id, config.stopGraceMs, signal);
      const mustGo = mayAutoRestart(app.spec.restart_policy, wasUp) && status !== "created";
      if (mustGo) await engine.removeContainer(id, signal);
      hasChanged ||= wasUp || mustGo;
    }
    return hasChanged;
  }

  #reportDenial({ name, deploymentId }: AppRecord, message: string, isUp: boolean): void {
    const { logger, store, clock } = this.#options;
    logger.error(
      { app: name, deployment: deploymentId, why: message },
      "the device's policy does not allow an installed app; it is stopped until the policy allows it. See: edge-agent app NAME",
    );
    if (!isUp) return;
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
      logger.warn({ err: error, app: name }, "it could not be noted in the history that an app was stopped");
    }
  }

  /**
   * What a running container has mounted was resolved when it was started. Under other rules than those of that time it
   * may be something that was exchanged meanwhile, and cannot be seen from outside: so it is started anew, once.
   */
  async #restartForChangedRules(forbidden: ReadonlySet<string>, signal: AbortSignal): Promise<boolean> {
    const { store, config, lease, logger } = this.#options;
    const isRestricted = restrictsMounts(config.policy);
    const rules = isRestricted ? JSON.stringify(config.policy.mounts) : "";
    if ((store.learnedValue(MOUNT_RULES_KEY) ?? "") === rules) return false;
    let [hasChanged, isComplete] = [false, true];
    const isDue = ({ spec, name, deploymentId }: AppRecord): boolean =>
      spec.volumes.length > 0 && !forbidden.has(name) && !this.#restarted.has(deploymentId);
    const apps = isRestricted ? store.apps().filter(isDue) : [];
    for (const app of apps) {
      using held = lease(app.name);
      // A deployment at work on it starts it anew, or leaves it as it is.
      const isRestarted = held && (await this.#tolerateEngineError(app, () => this.#restart(app, signal)));
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
        "it could not be noted that apps were restarted for the policy; see: edge-agent doctor (disk)",
      );
    }
    return hasChanged;
  }

  async #appContainers(
    { deploymentId, containerId }: AppRecord,
    containers: readonly ContainerSummary[],
    signal: AbortSignal,
  ): Promise<ContainerSummary[]> {
    const { engine } = this.#options;
    const labelled = containers.filter(({ labels }) => labels[LABELS.deployment] === deploymentId);
    return findManagedContainers(labelled, { engine, recorded: new Set([containerId]) }, signal);
  }

  /**
   * Restarts the app where it runs; returns whether it did. Call with the app held: what was seen of it before may be
   * over. A container that was stopped meanwhile is the keeper's to start.
   */
  async #restart(seen: AppRecord, signal: AbortSignal): Promise<boolean> {
    const { engine, config, store, logger, clock } = this.#options;
    const app = store.apps().find(({ name, deploymentId }) => name === seen.name && deploymentId === seen.deploymentId);
    if (!app || app.desired === "stopped") return false;
    const own = await this.#appContainers(app, await engine.listContainers(signal), signal);
    const up = own.filter(({ status }) => UP_STATUSES.has(status));
    if (up.length === 0) return false;
    logger.warn(
      { app: app.name },
      "the rules for mounts have changed; an app that mounts directories is restarted once",
    );
    for (const { id } of up) {
      signal.throwIfAborted();
      // Once begun it is carried through: no engine starts again what was stopped, and the agent may be about to end.
      using limit = deadline(clock, config.stopGraceMs + RESTART_MARGIN_MS);
      await engine.stopContainer(id, config.stopGraceMs, limit.signal);
      if ((await this.#findDenial(app, this.#options, limit.signal)) !== undefined) continue;
      await engine.startContainer(id, limit.signal);
    }
    return true;
  }
}

/** Whether an engine that is restarted starts the container again, though it was stopped. */
function mayAutoRestart(policy: AppRecord["spec"]["restart_policy"], wasUp: boolean): boolean {
  // A run that ended by itself without an error is over.
  return policy === "always" || (policy === "on-failure" && wasUp);
}
