/*
 * Whether a link that says nothing is idle or dead. Every probe costs data on a metered line, so one is sent only
 * when there is a reason; and nothing is declared dead on the word of a timer that itself came late.
 */

/** How long things may take, in milliseconds. */
export interface LivenessTimes {
  /** Silence after which the link is probed. */
  readonly keepaliveMs: number;
  /** How long a probe may stay unanswered. */
  readonly pongTimeoutMs: number;
  /** How long events may stay unacknowledged before the link is probed. */
  readonly ackTimeoutMs: number;
}

/** What is known of a session; times are monotonic milliseconds. */
export interface LivenessView {
  readonly now: number;
  /** Last time anything was received. */
  readonly lastReceivedAt: number;
  /** When the probe was sent that nothing has followed yet. */
  readonly probedAt: number | undefined;
  /** When the oldest event was sent that still counts as waiting for its acknowledgement. */
  readonly unackedSince: number | undefined;
  /** The machine slept or the process stood still: what was received meanwhile may not have been read yet. */
  readonly isResumed: boolean;
}

export type LivenessVerdict =
  | { readonly action: "wait" | "probe"; /** When to look again, from now. */ readonly nextMs: number }
  | { readonly action: "dead" };

export function judgeLiveness(view: LivenessView, times: LivenessTimes): LivenessVerdict {
  if (view.isResumed) return { action: "probe", nextMs: times.pongTimeoutMs };
  if (view.probedAt !== undefined) {
    const left = view.probedAt + times.pongTimeoutMs - view.now;
    return left > 0 ? { action: "wait", nextMs: left } : { action: "dead" };
  }
  const keepaliveLeft = view.lastReceivedAt + times.keepaliveMs - view.now;
  const ackLeft = view.unackedSince === undefined ? Infinity : view.unackedSince + times.ackTimeoutMs - view.now;
  const left = Math.min(keepaliveLeft, ackLeft);
  return left > 0 ? { action: "wait", nextMs: left } : { action: "probe", nextMs: times.pongTimeoutMs };
}

/** When the liveness was looked at, on both clocks, and when it was to be looked at next. */
export interface LivenessCheck {
  readonly monotonic: number;
  readonly wall: number;
  readonly dueInMs: number;
}

/** Shorter gaps are the scheduling of a busy machine. */
const RESUME_GAP_MS = 5_000;

/**
 * Whether the machine was suspended or the process stopped since the last check. In suspend the monotonic clock
 * stands still and the time of day goes on; in a stopped process both go on, and the check is late. A time server that
 * sets the clock forward looks the same: that costs one probe.
 */
export function wasSuspended(last: LivenessCheck, now: Pick<LivenessCheck, "monotonic" | "wall">): boolean {
  const elapsed = now.monotonic - last.monotonic;
  return elapsed - last.dueInMs > RESUME_GAP_MS || now.wall - last.wall - elapsed > RESUME_GAP_MS;
}
