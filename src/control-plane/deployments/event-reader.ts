import type { Clock } from "../../lib/clock.ts";
import type { Bus } from "../bus/bus.ts";
import { isFinished } from "../core/deployment.ts";
import { onAbort } from "../../lib/on-abort.ts";
import type { DeploymentStore, StoredEvent } from "../store/deployments.ts";
import { Latch } from "../../lib/latch.ts";
import { eventsTopic } from "./recorder.ts";

const MAX_BATCH_EVENTS = 100;

export interface EventReaderOptions {
  readonly store: DeploymentStore;
  readonly bus: Bus;
  readonly clock: Clock;
  /** After this many milliseconds without an event, an empty batch is yielded. */
  readonly idleMs: number;
  /** When it aborts, what is stored by then is still read, and the reading ends. */
  readonly drain: AbortSignal;
  /** When it aborts, the reading ends. */
  readonly signal: AbortSignal;
}

/**
 * Reads the events of a deployment with a `seq` above `after`, what is stored already and what comes, each once and in
 * order, until the final one. Where there is nothing to read at first, an empty batch comes at once.
 */
export async function* readEvents(
  deploymentId: string,
  after: number,
  { store, bus, clock, idleMs, drain, signal }: EventReaderOptions,
): AsyncGenerator<readonly StoredEvent[], void, undefined> {
  const latch = new Latch();
  // Subscribed before the first read: whatever is stored after a read sets the latch.
  using _subscription = bus.subscribe(eventsTopic(deploymentId), latch.set);
  using _drain = onAbort(drain, latch.set);
  using _signal = onAbort(signal, latch.set);
  let cursor = after;
  let silent = true;
  while (!signal.aborted) {
    const draining = drain.aborted;
    // Read before the events: where it has ended by then, all its events are stored.
    const deployment = await store.findSummary(deploymentId);
    const events = await store.readEvents(deploymentId, cursor, MAX_BATCH_EVENTS);
    if (events.length > 0) {
      cursor = events.at(-1)?.seq ?? cursor;
      silent = false;
      yield events;
      continue;
    }
    if (!deployment || isFinished(deployment) || draining) return;
    if (silent) yield [];
    silent = false;
    if (!(await latch.wait(clock, idleMs))) yield [];
  }
}
