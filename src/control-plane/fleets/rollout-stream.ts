import type { Clock } from "../../lib/clock.ts";
import { Latch } from "../../lib/latch.ts";
import { onAbort } from "../../lib/abort.ts";
import type { Bus } from "../bus/bus.ts";
import { accountTopic } from "../events/account-feeds.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { RolloutStore } from "../store/rollouts.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";

const MAX_BATCH_EVENTS = 100;

/** How often the store is read for events that change neither the state nor the wave, in milliseconds. */
const POLL_MS = 1_000;

/** Maximum silence of a stream before an empty batch keeps it alive, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

export interface RolloutEventsOptions {
  readonly store: Pick<RolloutStore, "readEvents">;
  readonly bus: Bus;
  readonly clock: Clock;
  /** On abort, the events stored by then are still yielded. */
  readonly drain: AbortSignal;
  /** On abort, reading ends. */
  readonly signal: AbortSignal;
}

/**
 * Yields the stored and future events of a rollout with a `seq` above `after`, each once and in order, until the final one.
 * Empty batches keep a stream alive. While the store is unavailable, it is read again until it is not.
 */
export async function* rolloutEvents(
  { id, accountId }: Pick<Rollout, "id" | "accountId">,
  after: number,
  { store, bus, clock, drain, signal }: RolloutEventsOptions,
): AsyncGenerator<readonly { readonly seq: number; readonly json: string }[], void, undefined> {
  const latch = new Latch();
  using _subscription = bus.subscribe(accountTopic(accountId), latch.set);
  using _drain = onAbort(drain, latch.set);
  using _signal = onAbort(signal, latch.set);
  let cursor = after;
  let sentAtMs = clock.monotonic();
  let isFirst = true;
  while (!signal.aborted) {
    const isDraining = drain.aborted;
    const result = await store.readEvents(id, cursor, MAX_BATCH_EVENTS).catch((error: unknown) => {
      if (error instanceof StoreUnavailableError) return undefined;
      throw error;
    });
    const events = result?.events ?? [];
    cursor = events.at(-1)?.seq ?? cursor;
    const isOver = result?.isOver === true && events.length < MAX_BATCH_EVENTS;
    // The first batch, even if it is empty, sends the headers.
    if (events.length > 0 || (isFirst && !isOver) || clock.monotonic() - sentAtMs >= KEEP_ALIVE_MS) {
      sentAtMs = clock.monotonic();
      yield events;
    }
    isFirst = false;
    if (events.length === MAX_BATCH_EVENTS) continue;
    if (isOver || isDraining) return;
    await latch.wait(clock, POLL_MS);
  }
}
