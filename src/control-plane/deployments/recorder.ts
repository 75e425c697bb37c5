import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Bus, Topic } from "../bus/bus.ts";
import { type ChangeTime, expire, withoutDueTimes } from "../core/deadlines.ts";
import { completeChange, completeNew } from "../core/delivery.ts";
import { type DeploymentChange, type Deployment, isFinished } from "../core/deployment.ts";
import type { DeploymentEvent } from "../../protocol/deployment-event.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { CreateResult, CreationLimits, DeploymentStore, Idempotency } from "../store/deployments.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { SessionFence } from "../store/sessions.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";
import type { CredentialCache } from "./credentials.ts";
import type { DeadlineSweeper } from "./deadline-sweeper.ts";

/** Returns the topic that is published after each new event of the deployment. */
export function eventsTopic(deploymentId: string): Topic {
  return `events.${deploymentId}`;
}

/** Decides on a change of a stored deployment at this time of day; `undefined`: none. Must be pure. */
type Decide = (deployment: Deployment, nowMs: number) => DeploymentChange | undefined;

/** Maximum number of deployments that one sweep ends. */
const MAX_EXPIRED_PER_SWEEP = 50;

/** When deadlines are read again that a change without a result may have set. */
const LOOK_AGAIN_MS = 5_000;

export interface RecorderOptions {
  readonly store: DeploymentStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly logger: Logger;
  readonly ackTimeoutMs: number;
  readonly deadlines: Pick<DeadlineSweeper, "note">;
  readonly credentials: CredentialCache;
  readonly isUnresponsive?: ((instanceId: string) => boolean) | undefined;
  /** Called when the store did not say whether a change was made: something may have to be delivered. */
  readonly onUnknownResult: () => void;
}

/** The only writer of deployments: stores a change first, then publishes it. */
export class Recorder {
  readonly #options: RecorderOptions;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /**
   * Stores a new deployment with its first event, and with the change that `receive` returns, given whether its device is
   * connected, if the limits allow it.
   */
  async create(
    deployment: Deployment,
    first: DeploymentEvent,
    idempotency: Idempotency | undefined,
    limits: CreationLimits,
    receive: Decide,
    audit: AuditEntry,
  ): Promise<CreateResult> {
    const { store, logger, deadlines } = this.#options;
    const changes = new Changes((stored, { nowMs }) => receive(stored, nowMs));
    const created = completeNew(deployment, this.#time());
    const result = await this.#orWake(
      deployment.id,
      store.createDeployment(
        created,
        first,
        idempotency,
        limits,
        (stored) => changes.decide(stored, this.#time()),
        audit,
      ),
    );
    if (result.kind !== "created") return result;
    const { id, app, action, spec, assetUuid } = deployment;
    const { image } = (spec ?? {}) as { image?: string };
    logger.info({ deployment_id: id, app, action, image, asset: assetUuid }, "deployment received");
    deadlines.note(result.deployment);
    if (result.deployment.delivery !== undefined) this.#wake(result.deployment);
    this.#publish(result.deployment, changes);
    return result;
  }

  /**
   * Applies the change that `decide` returns for the stored deployment. `decide` must compare any other input with the
   * deployment, since it may be stale. Returns the deployment afterwards, or `undefined` if the id is unknown.
   *
   * @param fence the session for which it is changed; error if a later one has replaced it: `StaleSessionError`
   */
  async update(id: string, decide: Decide, fence?: SessionFence, audit?: AuditEntry): Promise<Deployment | undefined> {
    const changes = new Changes((deployment, { nowMs }) => decide(deployment, nowMs));
    const { store } = this.#options;
    const after = await this.#orWake(
      id,
      store.updateDeployment(id, (current) => changes.decide(current, this.#time()), fence, audit),
    );
    if (after) this.#publish(after, changes);
    return after;
  }

  /**
   * Applies to each of these unfinished deployments of an earlier process, in one transaction, the change that `decide`
   * returns. Their deadlines are measured anew, since the service time of that process is over.
   */
  async resumeAll(ids: readonly string[], decide: Decide): Promise<void> {
    const changes = new Changes((deployment, { nowMs }) => decide(deployment, nowMs) ?? { fields: {} }, true);
    const updated = await this.#options.store.updateDeployments(ids, (current) =>
      changes.decide(current, this.#time()),
    );
    for (const deployment of updated) this.#publish(deployment, changes);
  }

  /** Ends deployments whose deadline has passed, at most `MAX_EXPIRED_PER_SWEEP`. Returns when the next one is due. */
  async expireDue(): Promise<number | undefined> {
    const changes = new Changes(expire);
    const { expired, nextDueMs } = await this.#options.store.expireDue(
      this.#options.serviceClock.serviceNow(),
      MAX_EXPIRED_PER_SWEEP,
      (current) => changes.decide(current, this.#time()),
    );
    for (const deployment of expired) this.#publish(deployment, changes);
    return nextDueMs;
  }

  /** If the store does not say whether it was changed, whoever waits for a change looks for it once the store is back. */
  async #orWake<T>(id: string, change: Promise<T>): Promise<T> {
    try {
      return await change;
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        const { bus, deadlines, serviceClock, onUnknownResult } = this.#options;
        bus.publish(eventsTopic(id));
        deadlines.note({ finishDueMs: serviceClock.serviceNow() + LOOK_AGAIN_MS, replyDueMs: undefined });
        onUnknownResult();
      }
      throw error;
    }
  }

  #time(): ChangeTime {
    const { clock, serviceClock, ackTimeoutMs, isUnresponsive } = this.#options;
    return { nowMs: clock.now(), serviceNowMs: serviceClock.serviceNow(), ackTimeoutMs, isUnresponsive };
  }

  #publish(after: Deployment, changes: Changes): void {
    const decided = changes.of(after.id);
    if (!decided) return;
    this.#options.deadlines.note(after);
    this.#options.credentials.evictIfDelivered(after);
    if (decided.mustWake) this.#wake(after);
    if (!decided.change.event) return;
    this.#options.bus.publish(eventsTopic(after.id));
    if (isFinished(after)) this.#logEnd(after);
  }

  /** Wakes the instance that holds the device's session. A session that begins now reads the store itself. */
  #wake({ holder, assetUuid }: Deployment): void {
    if (holder !== undefined) this.#options.bus.publishWake(holder, assetUuid);
  }

  #logEnd({ id, app, action, assetUuid, status, code, createdAtMs, finishedAtMs = createdAtMs }: Deployment): void {
    this.#options.logger.info(
      { deployment_id: id, app, action, asset: assetUuid, status, code, ms: finishedAtMs - createdAtMs },
      "deployment ended",
    );
  }
}

interface Decided {
  readonly change: DeploymentChange;
  /** Whether the holder of the device's session has something to do about it. */
  readonly mustWake: boolean;
}

/** Completes what is decided, and keeps the last decision on each deployment: a store may ask again. */
class Changes {
  readonly #decide: (deployment: Deployment, time: ChangeTime) => DeploymentChange | undefined;
  readonly #byId = new Map<string, Decided>();

  readonly #isResuming: boolean;

  /** @param isResuming whether the deadlines on record are of another process */
  constructor(decide: (deployment: Deployment, time: ChangeTime) => DeploymentChange | undefined, isResuming = false) {
    this.#decide = decide;
    this.#isResuming = isResuming;
  }

  decide(deployment: Deployment, time: ChangeTime): DeploymentChange | undefined {
    const { id, delivery } = deployment;
    const decided = this.#decide(deployment, time);
    this.#byId.delete(id);
    if (!decided) return undefined;
    const before = this.#isResuming ? withoutDueTimes(deployment) : deployment;
    const change = completeChange(before, decided, time);
    const after = change.fields && "delivery" in change.fields ? change.fields.delivery : delivery;
    // A device that has not responded is looked after by the holder of its session, if it still has one.
    const mustWake = after !== undefined && (after !== delivery || change.fields?.isWaiting === true);
    this.#byId.set(id, { change, mustWake });
    return change;
  }

  of(id: string): Decided | undefined {
    return this.#byId.get(id);
  }
}
