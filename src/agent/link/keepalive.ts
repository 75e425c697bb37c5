import type { Clock } from "../../lib/clock.ts";
import type { KeepaliveInterval } from "./keepalive-interval.ts";
import { type LivenessCheck, judgeLiveness, type LivenessTimes, wasSuspended } from "../core/link/liveness.ts";

/** Interval of checks that detect a resume from suspend, in milliseconds. A check by itself sends nothing. */
const MAX_CHECK_INTERVAL_MS = 30_000;

export interface KeepaliveOptions {
  readonly clock: Clock;
  readonly times: Omit<LivenessTimes, "keepaliveMs">;
  /** Silence after which the link is probed. */
  readonly interval: KeepaliveInterval;
  /** When the oldest unacknowledged event was sent. */
  readonly unackedSince: () => number | undefined;
  /** Sends a ping. */
  readonly probe: () => void;
  /** Called once when a probe was not answered. */
  readonly onDead: () => void;
}

/** Detects a dead link, until disposed. */
export class Keepalive implements Disposable {
  readonly #options: KeepaliveOptions;
  #timer: Disposable | undefined;
  #last: LivenessCheck;
  #lastReceivedAt: number;
  #probedAt: number | undefined;
  /** When the probe with an outstanding pong was sent. Unlike `#probedAt`, other received data does not clear it. */
  #awaitedProbeAt: number | undefined;
  /** Silence before that probe, if silence was the reason for it. */
  #silenceMs: number | undefined;
  #isDisposed = false;

  constructor(options: KeepaliveOptions) {
    this.#options = options;
    this.#lastReceivedAt = options.clock.monotonic();
    this.#last = this.#arm(Math.min(options.interval.currentMs(), MAX_CHECK_INTERVAL_MS));
  }

  /** Called when anything is received. */
  onReceived(): void {
    const now = this.#options.clock.monotonic();
    // After a probe, the silence before it counts: the response time is no idle time.
    this.#options.interval.onSurvived(this.#silenceMs ?? now - this.#lastReceivedAt);
    this.#lastReceivedAt = now;
    this.#probedAt = undefined;
    this.#silenceMs = undefined;
  }

  /** Called when the connection was closed by neither this side nor the service. */
  closed(): void {
    // With a probe under way, its silence counts.
    if (this.#isDisposed || this.#silenceMs !== undefined) return;
    this.#options.interval.onClosed(this.#options.clock.monotonic() - this.#lastReceivedAt);
  }

  /** Called for a pong. Returns when its probe was sent, or `undefined`. */
  pong(): number | undefined {
    this.onReceived();
    const probedAt = this.#awaitedProbeAt;
    this.#awaitedProbeAt = undefined;
    return probedAt;
  }

  /** Checks now and schedules the next check. Must also be called after events were sent. */
  check(): void {
    if (this.#isDisposed) return;
    const { clock, times, interval, unackedSince } = this.#options;
    const now = clock.monotonic();
    const isResumed = wasSuspended(this.#last, { monotonic: now, wall: clock.timeOfDay() });
    const verdict = judgeLiveness(
      {
        now,
        lastReceivedAt: this.#lastReceivedAt,
        probedAt: this.#probedAt,
        unackedSince: unackedSince(),
        isResumed,
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
      // The silence of a suspended machine says nothing about the network.
      this.#silenceMs = isResumed || unackedSince() !== undefined ? undefined : now - this.#lastReceivedAt;
      this.#options.probe();
    }
    this.#last = this.#arm(Math.min(verdict.nextMs, MAX_CHECK_INTERVAL_MS));
  }

  [Symbol.dispose](): void {
    // The probe was not answered, or answered by a reset.
    if (!this.#isDisposed && this.#silenceMs !== undefined) this.#options.interval.onLost(this.#silenceMs);
    this.#isDisposed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #arm(dueInMs: number): LivenessCheck {
    const { clock } = this.#options;
    this.#timer?.[Symbol.dispose]();
    this.#timer = clock.timer(dueInMs, () => this.check());
    return { monotonic: clock.monotonic(), wall: clock.timeOfDay(), dueInMs };
  }
}
