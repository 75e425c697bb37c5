import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Bus, Topic } from "../bus/bus.ts";
import { type DeploymentChange, type Deployment, isFinished } from "../core/deployment.ts";
import type { DeploymentEvent } from "../../protocol/deployment-event.ts";
import type { CreateResult, CreationLimits, DeploymentStore, Idempotency } from "../store/deployments.ts";
import type { CredentialCache } from "./credentials.ts";
import type { DeadlineTimers } from "./deadlines.ts";
import { StaleResultFilter } from "./stale-result-filter.ts";

/** Returns the topic that is published after each new event of the deployment. */
export function eventsTopic(deploymentId: string): Topic {
  return `events.${deploymentId}`;
}

export interface RecorderOptions {
  readonly store: DeploymentStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly deadlines: DeadlineTimers;
  readonly credentials: CredentialCache;
}

/** The only writer of deployments: stores a change first, then publishes it. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #staleResults = new StaleResultFilter();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Stores a new deployment with its first event, if the limits allow it, and sets its deadlines. */
  async create(
    deployment: Deployment,
    first: DeploymentEvent,
    idempotency: Idempotency | undefined,
    limits: CreationLimits,
  ): Promise<CreateResult> {
    using call = this.#staleResults.begin(deployment.id);
    const result = await this.#options.store.createDeployment(deployment, first, idempotency, limits);
    if (result.kind === "created") this.#updateMemory(deployment, call.accept(deployment.version));
    return result;
  }

  /**
   * Applies the change that `decide` returns for the stored deployment and the time of day in milliseconds. `decide` must
   * compare any other input with the deployment, since it may be stale, and return `undefined` to change nothing. Returns the
   * deployment afterwards, or `undefined` if the id is unknown.
   */
  async update(
    id: string,
    decide: (deployment: Deployment, nowMs: number) => DeploymentChange | undefined,
  ): Promise<Deployment | undefined> {
    const { store, bus, clock } = this.#options;
    using call = this.#staleResults.begin(id);
    const decided: { change?: DeploymentChange | undefined } = {};
    const after = await store.updateDeployment(id, (deployment) => {
      decided.change = decide(deployment, clock.now());
      return decided.change;
    });
    if (!after || !decided.change) return after;
    this.#updateMemory(after, call.accept(after.version));
    if (decided.change.event) bus.publish(eventsTopic(id));
    if (decided.change.event && isFinished(after)) this.#logEnd(after);
    return after;
  }

  /** Updates deadlines and credentials after a change. @param isNewest false if a later change was applied before */
  #updateMemory(deployment: Deployment, isNewest: boolean): void {
    if (!isNewest) return;
    this.#options.deadlines.watch(deployment);
    this.#options.credentials.evictIfDelivered(deployment);
  }

  #logEnd({ id, app, action, assetUuid, status, code, createdAtMs, finishedAtMs = createdAtMs }: Deployment): void {
    this.#options.logger.info(
      { deployment_id: id, app, action, asset: assetUuid, status, code, ms: finishedAtMs - createdAtMs },
      "deployment ended",
    );
  }
}
