import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Bus } from "../bus/bus.ts";
import { type Change, type Deployment, isFinished } from "../core/deployment.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import type { Credentials } from "./credentials.ts";
import type { Deadlines } from "./deadlines.ts";

/** The topic that is published when a deployment has a new event. */
export function eventsTopic(deploymentId: string): string {
  return `deployment.${deploymentId}`;
}

export interface RecorderParts {
  readonly store: DeploymentStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly deadlines: Deadlines;
  readonly credentials: Credentials;
}

/** The one way a deployment changes: stored first, then told to those who wait. */
export class Recorder {
  readonly #parts: RecorderParts;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  /**
   * Changes a deployment as `decide` says, given the deployment and the time of day in milliseconds. Answers the
   * deployment as it is afterwards, or `undefined` when there is none of this id.
   */
  async change(
    id: string,
    decide: (deployment: Deployment, nowMs: number) => Change | undefined,
  ): Promise<Deployment | undefined> {
    const { store, bus, clock, deadlines, credentials } = this.#parts;
    const made: { change?: Change | undefined } = {};
    const after = await store.updateDeployment(id, (deployment) => {
      made.change = decide(deployment, clock.now());
      return made.change;
    });
    if (!after || !made.change) return after;
    deadlines.watch(after);
    credentials.review(after);
    if (made.change.event) bus.publish(eventsTopic(id));
    if (made.change.event && isFinished(after)) this.#logEnd(after);
    return after;
  }

  #logEnd({ id, app, action, assetUuid, status, code, createdAtMs, finishedAtMs = createdAtMs }: Deployment): void {
    this.#parts.logger.info(
      { deployment_id: id, app, action, asset: assetUuid, status, code, ms: finishedAtMs - createdAtMs },
      "deployment ended",
    );
  }
}
