import type { Clock } from "../../lib/clock.ts";
import type { KeepaliveInterval } from "./keepalive-interval.ts";
import { type LivenessCheck, judgeLiveness, type LivenessTimes, wasSuspended } from "../core/link/liveness.ts";

/** A suspended machine notices it is awake within this time, in milliseconds; nothing is sent for it. */
const MAX_CHECK_INTERVAL_MS = 30_000;

export interface KeepaliveOptions {
  readonly clock: Clock;
  readonly times: Omit<LivenessTimes, "keepaliveMs">;
  /** How long the link may be silent. */
  readonly interval: KeepaliveInterval;
  /** When the oldest event was sent that waits for its acknowledgement. */
  readonly unackedSince: () => number | undefined;
  /** Sends a ping. */
  readonly probe: () => void;
  /** Called once when a probe stayed unanswered. */
  readonly onDead: () => void;
}

/** Finds out whether a session's link still leads anywhere, until disposed. */
export class Keepalive implements Disposable {
  readonly #options: KeepaliveOptions;
  #timer: Disposable | undefined;
  #last: LivenessCheck;
  #lastReceivedAt: number;
  #probedAt: number | undefined;
  /** The probe whose pong is still to come; `#probedAt` is over with whatever comes first. */
  #awaitedProbeAt: number | undefined;
  /** The silence that ended with that probe, where silence was the reason for it. */
  #silenceMs: number | undefined;
  #isDisposed = false;

  constructor(options: KeepaliveOptions) {
    this.#options = options;
    this.#lastReceivedAt = options.clock.monotonic();
    this.#last = this.#arm(Math.min(options.interval.currentMs(), MAX_CHECK_INTERVAL_MS));
  }

  /** Something was received. */
  onReceived(): void {
    const now = this.#options.clock.monotonic();
    // After a probe, what counts is the silence before it: the time until the answer is the line's, not the network's.
    this.#options.interval.onSurvived(this.#silenceMs ?? now - this.#lastReceivedAt);
    this.#lastReceivedAt = now;
    this.#probedAt = undefined;
    this.#silenceMs = undefined;
  }

  /** A pong was received. Returns when the probe it answers was sent, `undefined` if none was. */
  pong(): number | undefined {
    this.onReceived();
    const probedAt = this.#awaitedProbeAt;
    this.#awaitedProbeAt = undefined;
    return probedAt;
  }

  /** Looks now, and plans the next look: to be called when events begin to wait for their acknowledgement. */
  check(): void {
    if (this.#isDisposed) return;
    const { clock, times, interval, unackedSince } = this.#options;
    const now = clock.monotonic();
    const resumed = wasSuspended(this.#last, { monotonic: now, wall: clock.now() });
    const verdict = judgeLiveness(
      {
        now,
        lastReceivedAt: this.#lastReceivedAt,
        probedAt: this.#probedAt,
        unackedSince: unackedSince(),
        isResumed: resumed,
      },
      { ...times, keepaliveMs: interval.currentMs() },
    );
    if (verdict.action === "dead") {
      this[Symbol.dispose]();
      this.#options.onDead();
      return;
    }
    if (verdict.action === "probe") {
      this.#probedAt = now;
      this.#awaitedProbeAt = now;
      // A machine that slept learned nothing of the network.
      this.#silenceMs = resumed || unackedSince() !== undefined ? undefined : now - this.#lastReceivedAt;
      this.#options.probe();
    }
    this.#last = this.#arm(Math.min(verdict.nextMs, MAX_CHECK_INTERVAL_MS));
  }

  [Symbol.dispose](): void {
    // Unanswered, or answered by a reset.
    if (!this.#isDisposed && this.#silenceMs !== undefined) this.#options.interval.onLost(this.#silenceMs);
    this.#isDisposed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #arm(dueInMs: number): LivenessCheck {
    const { clock } = this.#options;
    this.#timer?.[Symbol.dispose]();
    this.#timer = clock.timer(dueInMs, () => this.check());
    return { monotonic: clock.monotonic(), wall: clock.now(), dueInMs };
  }
}
