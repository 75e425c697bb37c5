import { fullJitter } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { askedPauseMs, isPassing } from "../api/network-failure.ts";
import { StreamOutage, StreamEnded } from "../api/stream-outage.ts";
import type { RolloutEvent } from "../api/rollout-streams.ts";

const BACKOFF = { baseMs: 500, maxMs: 10_000 };

/** Receives what happens while a rollout is followed. */
export interface RolloutListener {
  /** Called with each event once, in order. */
  onEvent(event: RolloutEvent): void;
  /** Called when the connection is lost. The rollout continues. */
  onDisconnected(why: string): void;
  /** Called when the stream is open again. */
  onReconnected(): void;
}

export interface RolloutFollowOptions {
  /** Opens the stream after the event with this number. Calls `onOpen` when the service has answered. */
  readonly open: (after: number, onOpen: () => void) => AsyncIterable<RolloutEvent>;
  readonly listener: RolloutListener;
  /** Called for an event that says that the rollout waits for people. Returns whether following ends with it. */
  readonly endsWaiting?: (event: RolloutEvent) => Promise<boolean>;
  /** How long to retry without a connection, or with one that brings nothing and ends at once, in milliseconds. */
  readonly giveUpAfterMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/**
 * Follows a rollout to its final event, or the one at which it ends waiting, which it returns. The service ends streams when it is restarted: what comes after the
 * last event is asked for then. Errors: a refusal, an outage longer than `giveUpAfterMs`, or the reason of `signal`.
 */
export async function followRollout(options: RolloutFollowOptions): Promise<RolloutEvent> {
  const { open, listener, clock, signal } = options;
  let after = 0;
  let attempts = 0;
  const outage = new StreamOutage(clock);
  let isSaid = false;
  // A paused rollout has no events for days: that it is quiet is no outage.
  const onOpen = (): void => {
    if (isSaid) listener.onReconnected();
    isSaid = false;
    outage.opened();
  };
  for (;;) {
    let problem: unknown;
    try {
      for await (const event of open(after, onOpen)) {
        attempts = 0;
        if (event.seq <= after) continue;
        after = event.seq;
        outage.progressed();
        listener.onEvent(event);
        if (event.status !== "Running") return event;
        if (event.waits_for_people && (await options.endsWaiting?.(event))) return event;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!isPassing(error)) throw error;
      problem = error;
    }
    const outageMs = outage.ended();
    if (outageMs !== undefined && outageMs >= options.giveUpAfterMs) throw problem ?? new StreamEnded();
    if (problem !== undefined) {
      if (!isSaid) listener.onDisconnected(problem instanceof Error ? problem.message : "");
      isSaid = true;
    }
    await clock.sleep(Math.max(askedPauseMs(problem), fullJitter(attempts++, BACKOFF, options.random())), signal);
  }
}
