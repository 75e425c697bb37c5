import { type Deployment, isFinished, type StoredEvent } from "../../core/deployment.ts";
import type { EventBatch } from "../deployments.ts";

/** Maximum number of events, and the maximum length of one as JSON: in all a mebibyte or two. */
const MAX_EVENTS = 1_000;
const MAX_EVENT_LENGTH = 1_024;

/**
 * The latest events of deployments in progress, as they are on disk. A stream that has read all before needs no statement
 * for the next one. An event never changes once it is stored.
 */
export class LatestEvents {
  readonly #byDeployment = new Map<string, EventBatch & { readonly seq: number }>();

  /** Must be called after the event was committed. @param deployment as it was then */
  add(deployment: Deployment, event: StoredEvent): void {
    const { id } = deployment;
    // Moves it to the end: the oldest is first.
    this.#byDeployment.delete(id);
    if (event.json.length > MAX_EVENT_LENGTH) return;
    this.#byDeployment.set(id, { seq: event.seq, events: [event], hasMore: false, isOver: isFinished(deployment) });
    if (this.#byDeployment.size <= MAX_EVENTS) return;
    const [oldest] = this.#byDeployment.keys();
    if (oldest !== undefined) this.#byDeployment.delete(oldest);
  }

  /** Returns the latest event of the deployment if it is the one that follows `after`. */
  findAfter(id: string, after: number): EventBatch | undefined {
    const latest = this.#byDeployment.get(id);
    return latest?.seq === after + 1 ? latest : undefined;
  }
}
