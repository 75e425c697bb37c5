import type { Logger } from "../../lib/logger.ts";
import type { Bus, Topic } from "../bus/bus.ts";
import { imageOf } from "../core/command.ts";
import type { ChangeTime } from "../core/deadlines.ts";
import {
  codeOf,
  type Deployment,
  finishedAtMsOf,
  isFinished,
  type NewDeployment,
  statusOf,
} from "../core/deployment.ts";
import { begin, type Effect, type Fact, next, type RequestFacts, type Transition } from "../core/next.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { CreateResult, CreationLimits, DeploymentStore, Idempotency } from "../store/deployments.ts";
import type { SessionFence } from "../store/sessions.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";
import type { CredentialCache } from "./credentials.ts";
import type { DeadlineSweeper } from "./deadline-sweeper.ts";
import { KnownDeployments } from "./known-deployments.ts";
import type { UndeliveredSweeper } from "./undelivered-sweeper.ts";

/** Returns the topic that is published after each new event of the deployment. */
export function eventsTopic(deploymentId: string): Topic {
  return `events.${deploymentId}`;
}

/** Maximum number of deployments that one sweep ends. */
const MAX_EXPIRED_PER_SWEEP = 50;

/** When deadlines are read again that a change without a result may have set. */
const LOOK_AGAIN_MS = 5_000;

export interface ExecutorOptions {
  readonly store: DeploymentStore;
  readonly bus: Bus;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  readonly ackTimeoutMs: number;
  readonly sweepers: Sweepers;
  readonly credentials: CredentialCache;
  readonly isUnresponsive?: ((instanceId: string) => boolean) | undefined;
}

/** They look later for what has to be done. */
export interface Sweepers {
  readonly deadlines: Pick<DeadlineSweeper, "note">;
  readonly undelivered: Pick<UndeliveredSweeper, "sweepSoon">;
}

/** What is stored with a new deployment, or refuses it. */
export interface Creation {
  readonly idempotency: Idempotency | undefined;
  readonly limits: CreationLimits;
  readonly audit: AuditEntry;
}

/** A deployment after a fact, and whether the fact has changed it. */
export interface Applied {
  readonly deployment: Deployment;
  readonly hasChanged: boolean;
}

/**
 * The only writer of deployments. Stores what `core/next.ts` decides if the record is still the one that was decided on, decides
 * anew if it is not, and then does what follows.
 */
export class DeploymentExecutor {
  readonly #options: ExecutorOptions;
  readonly #known = new KnownDeployments();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Stores a new deployment if the limits allow it. */
  async create(
    request: NewDeployment,
    facts: Omit<RequestFacts, "holder">,
    { idempotency, limits, audit }: Creation,
  ): Promise<Exclude<CreateResult, { kind: "holder_changed" }>> {
    const { store } = this.#options;
    const specBytes = Buffer.byteLength(JSON.stringify(request.command.spec));
    let holder = await store.findHolder(request.assetUuid);
    for (;;) {
      const transition = begin(request, { ...facts, holder }, this.#time(holder));
      const { after, events } = transition;
      const result = await this.#orLookAgain(
        after.id,
        store.createDeployment({ after, events, idempotency, limits, specBytes, audit }),
      );
      if (result.kind === "created") {
        this.#logReceived(request);
        this.#follow(transition);
      }
      if (result.kind !== "holder_changed") return result;
      holder = result.holder;
    }
  }

  /**
   * Applies a fact to a deployment. Returns `undefined` if the id is unknown.
   *
   * @param fence the device's session that the fact comes from: a deployment of another device stays as it is. Error if a
   * later one has replaced it: `StaleSessionError`
   */
  async apply(id: string, fact: Fact, fence?: SessionFence, audit?: AuditEntry): Promise<Applied | undefined> {
    const { store } = this.#options;
    let known = fence && this.#known.find(id, fence);
    for (;;) {
      const deployment = known ?? (await store.findDeployment(id, fence));
      if (!deployment) return undefined;
      const isForeign = fence !== undefined && deployment.assetUuid !== fence.assetUuid;
      const transition = isForeign ? undefined : next(deployment, fact, this.#time(deployment.holder));
      // Without a change nothing would show that what is known is out of date: it is read.
      if (!transition && !known) return { deployment, hasChanged: false };
      known = undefined;
      if (transition && (await this.#store(transition, fence, audit)))
        return { deployment: transition.after, hasChanged: true };
    }
  }

  /**
   * Applies a fact to deployments that were just read, in one transaction. Leaves out those that others have changed since,
   * and returns their ids.
   */
  async applyAll(deployments: readonly Deployment[], fact: Fact): Promise<readonly string[]> {
    const transitions = deployments.flatMap(
      (deployment) => next(deployment, fact, this.#time(deployment.holder)) ?? [],
    );
    const stored = await this.#options.store.updateDeployments(transitions);
    for (const transition of transitions) if (stored.has(transition.after.id)) this.#follow(transition);
    return transitions.flatMap(({ after: { id } }) => (stored.has(id) ? [] : [id]));
  }

  /** Ends deployments whose deadline has passed, at most `MAX_EXPIRED_PER_SWEEP`. Returns when the next one is due. */
  async expireDue(): Promise<number | undefined> {
    const { store, clock } = this.#options;
    const nowMs = clock.serviceNow();
    // Every instance asks every second, and hardly ever finds anything: that costs one statement.
    const dueMs = await store.findNextDue();
    if (dueMs === undefined || dueMs > nowMs) return dueMs;
    // Those that are left out have been ended by another instance, or are found again.
    await this.applyAll(await store.listDue(nowMs, MAX_EXPIRED_PER_SWEEP), { kind: "deadline" });
    return store.findNextDue();
  }

  /** Returns whether the transition was stored, and what follows was done. */
  async #store(
    transition: Transition,
    fence: SessionFence | undefined,
    audit: AuditEntry | undefined,
  ): Promise<boolean> {
    const { before, after, events } = transition;
    const { id } = after;
    const update = { before, after, events, fence, audit };
    try {
      const isStored = await this.#orLookAgain(id, this.#options.store.updateDeployment(update));
      if (isStored && fence && !isFinished(after)) this.#known.changed(before, after, fence);
      else this.#known.forget(id);
      if (isStored) this.#follow(transition);
      return isStored;
    } catch (error) {
      this.#known.forget(id);
      throw error;
    }
  }

  /** If the store does not say whether a change was made, the caller that waits for it looks for it once the store is back. */
  async #orLookAgain<T>(id: string, change: Promise<T>): Promise<T> {
    try {
      return await change;
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        const { bus, clock, sweepers } = this.#options;
        bus.publish(eventsTopic(id));
        // The store did not say whether the change was made: it may have set a deadline, and something may have to be delivered.
        sweepers.deadlines.note(clock.serviceNow() + LOOK_AGAIN_MS);
        sweepers.undelivered.sweepSoon();
      }
      throw error;
    }
  }

  #time(holder: string | undefined): ChangeTime {
    const { clock, ackTimeoutMs, isUnresponsive } = this.#options;
    const isHolderUnresponsive = holder !== undefined && isUnresponsive?.(holder) === true;
    return { nowMs: clock.now(), serviceNowMs: clock.serviceNow(), ackTimeoutMs, isHolderUnresponsive };
  }

  #follow({ after, effects }: Transition<Deployment | undefined>): void {
    for (const effect of effects) this.#carryOut(effect, after);
  }

  #carryOut(effect: Effect, after: Deployment): void {
    const { sweepers, credentials, bus } = this.#options;
    switch (effect.kind) {
      case "arm_deadline":
        return sweepers.deadlines.note(effect.dueMs);
      case "drop_credentials":
        return credentials.drop(after.id);
      case "wake":
        return bus.publishWake(effect.holder, after.assetUuid);
      case "tell_streams":
        return bus.publish(eventsTopic(after.id));
      case "log_end":
        return this.#logEnd(after);
    }
  }

  #logReceived(request: NewDeployment): void {
    const { id, app, command, assetUuid } = request;
    const { action } = command;
    const fields = { deployment_id: id, app, action, image: imageOf(command), asset: assetUuid };
    this.#options.logger.info(fields, "deployment received");
  }

  #logEnd(deployment: Deployment): void {
    const { id, app, command, assetUuid, createdAtMs } = deployment;
    const { action } = command;
    const ms = (finishedAtMsOf(deployment) ?? createdAtMs) - createdAtMs;
    const end = { status: statusOf(deployment), code: codeOf(deployment), ms };
    this.#options.logger.info({ deployment_id: id, app, action, asset: assetUuid, ...end }, "deployment ended");
  }
}
