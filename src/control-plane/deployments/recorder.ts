import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Bus } from "../bus/bus.ts";
import { type DeploymentChange, type Deployment, isFinished } from "../core/deployment.ts";
import type { DeploymentEvent } from "../../protocol/deployment-event.ts";
import type { CreateResult, CreationLimits, DeploymentStore, Idempotency } from "../store/deployments.ts";
import type { CredentialCache } from "./credentials.ts";
import type { DeadlineTimers } from "./deadlines.ts";
import { StaleResultFilter } from "./stale-result-filter.ts";

/** The topic that is published when a deployment has a new event. */
export function eventsTopic(deploymentId: string): string {
  return `deployment.${deploymentId}`;
}

export interface RecorderOptions {
  readonly store: DeploymentStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly deadlines: DeadlineTimers;
  readonly credentials: CredentialCache;
}

/** The one way a deployment changes: stored first, then told to those who wait. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #staleResults = new StaleResultFilter();

  constructor(parts: RecorderOptions) {
    this.#options = parts;
  }

  /** Stores a new deployment with its first event, within the bounds, and watches over it from then on. */
  async create(
    deployment: Deployment,
    first: DeploymentEvent,
    idempotency: Idempotency | undefined,
    bounds: CreationLimits,
  ): Promise<CreateResult> {
    using call = this.#staleResults.begin(deployment.id);
    const result = await this.#options.store.createDeployment(deployment, first, idempotency, bounds);
    if (result.kind === "created") this.#updateMemory(deployment, call.accept(deployment.version));
    return result;
  }

  /**
   * Changes a deployment as `decide` says, given the deployment and the time of day in milliseconds. What it is
   * decided on is the deployment as it is in the store at that moment; whatever else it follows from may have changed since,
   * and has to be compared with the deployment: `decide` answers `undefined` where it is stale. Answers the deployment as
   * it is afterwards, or `undefined` when there is none of this id.
   */
  async update(
    id: string,
    decide: (deployment: Deployment, nowMs: number) => DeploymentChange | undefined,
  ): Promise<Deployment | undefined> {
    const { store, bus, clock } = this.#options;
    using call = this.#staleResults.begin(id);
    const made: { change?: DeploymentChange | undefined } = {};
    const after = await store.updateDeployment(id, (deployment) => {
      made.change = decide(deployment, clock.now());
      return made.change;
    });
    if (!after || !made.change) return after;
    this.#updateMemory(after, call.accept(after.version));
    if (made.change.event) bus.publish(eventsTopic(id));
    if (made.change.event && isFinished(after)) this.#logEnd(after);
    return after;
  }

  /** Lets what is kept in memory follow what is stored. @param isNewest whether no later change has been followed before */
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
