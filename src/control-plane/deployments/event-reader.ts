import type { Clock } from "../../lib/clock.ts";
import type { Bus } from "../bus/bus.ts";
import { isFinished } from "../core/deployment.ts";
import { onAbort } from "../../lib/on-abort.ts";
import type { DeploymentStore, StoredEvent } from "../store/deployments.ts";
import { Latch } from "../../lib/latch.ts";
import { eventsTopic } from "./recorder.ts";
import type { StreamPoller } from "./stream-poller.ts";

const MAX_BATCH_EVENTS = 100;

export interface EventReaderOptions {
  readonly store: DeploymentStore;
  readonly bus: Bus;
  readonly clock: Clock;
  /** Finds events whose message was lost. */
  readonly poller: Pick<StreamPoller, "add">;
  /** After this many milliseconds without an event, an empty batch is yielded. */
  readonly idleMs: number;
  /** On abort, the events stored by then are still yielded. */
  readonly drain: AbortSignal;
  /** On abort, reading ends. */
  readonly signal: AbortSignal;
}

/**
 * Yields the stored and future events of a deployment with a `seq` above `after`, each once and in order, until the final
 * one. If no event is stored at first, an empty batch is yielded at once.
 */
export async function* readEvents(
  deploymentId: string,
  after: number,
  { store, bus, poller, clock, idleMs, drain, signal }: EventReaderOptions,
): AsyncGenerator<readonly StoredEvent[], void, undefined> {
  const latch = new Latch();
  // Subscribed before the first read, so that every event stored after a read sets the latch.
  using _subscription = bus.subscribe(eventsTopic(deploymentId), latch.set);
  using _drain = onAbort(drain, latch.set);
  using _signal = onAbort(signal, latch.set);
  let cursor = after;
  using _polled = poller.add(deploymentId, {
    get lastSeq() {
      return cursor;
    },
    wake: latch.set,
  });
  let isFirst = true;
  while (!signal.aborted) {
    const isDraining = drain.aborted;
    // Read before the events: if it has ended by then, all its events are stored.
    const deployment = await store.findSummary(deploymentId);
    const events = await store.readEvents(deploymentId, cursor, MAX_BATCH_EVENTS);
    if (events.length > 0) {
      cursor = events.at(-1)?.seq ?? cursor;
      isFirst = false;
      yield events;
      continue;
    }
    if (!deployment || isFinished(deployment) || isDraining) return;
    if (isFirst) yield [];
    isFirst = false;
    if (!(await latch.wait(clock, idleMs))) yield [];
  }
}
