import type { Clock } from "../../lib/clock.ts";
import type { Bus } from "../bus/bus.ts";
import { onAbort } from "../../lib/abort.ts";
import type { StoredEvent } from "../core/deployment.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import { storeRetryDelayMs, StoreUnavailableError } from "../store/unavailable.ts";
import { Latch } from "../../lib/latch.ts";
import { eventsTopic } from "./executor.ts";
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
 * one. If no event is stored at first, an empty batch is yielded at once. While the store is unavailable, it is read again
 * until it is not.
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
  let failures = 0;
  let silentMs = 0;
  const read = async () => {
    try {
      return await store.readEvents(deploymentId, cursor, MAX_BATCH_EVENTS);
    } catch (error) {
      if (error instanceof StoreUnavailableError) return undefined;
      throw error;
    }
  };
  while (!signal.aborted) {
    const isDraining = drain.aborted;
    const result = await read();
    if (!result) {
      if (isDraining) return;
      if (isFirst) yield [];
      isFirst = false;
      const delayMs = storeRetryDelayMs(failures++, Math.random());
      // A wake-up is not lost: the next read finds what it was for.
      if (!(await latch.wait(clock, delayMs))) silentMs += delayMs;
      if (silentMs < idleMs) continue;
      silentMs = 0;
      yield [];
      continue;
    }
    failures = 0;
    silentMs = 0;
    const { events, hasMore, isOver } = result;
    if (events.length > 0) {
      cursor = events.at(-1)?.seq ?? cursor;
      yield events;
    } else if (isFirst && !isOver && !isDraining) {
      yield [];
    }
    isFirst = false;
    if (hasMore && events.length > 0) continue;
    if (isOver || isDraining) return;
    if (!(await latch.wait(clock, idleMs))) yield [];
  }
}
