/*
 * Decides whether a silent link is idle or dead. A probe costs data on a metered network, so one is sent only for a
 * reason. A timer that fires late does not prove that the link is dead.
 */

/** Timeouts, in milliseconds. */
export interface LivenessTimes {
  /** Silence after which the link is probed. */
  readonly keepaliveMs: number;
  /** How long to wait for the answer to a probe. */
  readonly pongTimeoutMs: number;
  /** How long events may stay unacknowledged before the link is probed. */
  readonly ackTimeoutMs: number;
}

/** State of a session; times are monotonic milliseconds. */
export interface LivenessView {
  readonly now: number;
  /** Last time anything was received. */
  readonly lastReceivedAt: number;
  /** When the last probe was sent; `undefined` if anything was received since. */
  readonly probedAt: number | undefined;
  /** When the oldest unacknowledged event was sent. */
  readonly unackedSince: number | undefined;
  /** The machine or the process was suspended: received data may not have been read yet. */
  readonly isResumed: boolean;
}

export type LivenessVerdict =
  | { readonly action: "wait" | "probe"; /** Milliseconds until the next check. */ readonly nextMs: number }
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

/** Time of a liveness check, on both clocks, and the delay until the next one. */
export interface LivenessCheck {
  readonly monotonic: number;
  readonly wall: number;
  readonly dueInMs: number;
}

/** Shorter gaps can be scheduling delays of a busy machine. */
const RESUME_GAP_MS = 5_000;

/**
 * Whether the machine was suspended or the process stopped since the last check. During suspend the monotonic clock
 * stops and the time of day advances; while a process is stopped both advance, and the check is late. A clock that is
 * set forward looks the same: that costs one probe.
 */
export function wasSuspended(last: LivenessCheck, now: Pick<LivenessCheck, "monotonic" | "wall">): boolean {
  const elapsed = now.monotonic - last.monotonic;
  return elapsed - last.dueInMs > RESUME_GAP_MS || now.wall - last.wall - elapsed > RESUME_GAP_MS;
}
