import type { Clock } from "../../lib/clock.ts";
import type { Idle } from "./learned-idle.ts";
import { type Check, judgeLiveness, type LivenessTimes, wasSuspended } from "../core/liveness.ts";

/** A suspended machine notices it is awake within this time, in milliseconds; nothing is sent for it. */
const LONGEST_CHECK_MS = 30_000;

export interface KeepaliveOptions {
  readonly clock: Clock;
  readonly times: Omit<LivenessTimes, "keepaliveMs">;
  /** How long the link may be silent. */
  readonly idle: Idle;
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
  #last: Check;
  #heardAt: number;
  #probedAt: number | undefined;
  /** The probe whose pong is still to come; `#probedAt` is over with whatever comes first. */
  #pongFor: number | undefined;
  /** The silence that ended with that probe, where silence was the reason for it. */
  #silenceMs: number | undefined;
  #over = false;

  constructor(options: KeepaliveOptions) {
    this.#options = options;
    this.#heardAt = options.clock.monotonic();
    this.#last = this.#arm(Math.min(options.idle.pauseMs(), LONGEST_CHECK_MS));
  }

  /** Something was received. */
  heard(): void {
    const now = this.#options.clock.monotonic();
    // After a probe, what counts is the silence before it: the time until the answer is the line's, not the network's.
    this.#options.idle.held(this.#silenceMs ?? now - this.#heardAt);
    this.#heardAt = now;
    this.#probedAt = undefined;
    this.#silenceMs = undefined;
  }

  /** A pong was received. Returns when the probe it answers was sent, `undefined` if none was. */
  pong(): number | undefined {
    this.heard();
    const probedAt = this.#pongFor;
    this.#pongFor = undefined;
    return probedAt;
  }

  /** Looks now, and plans the next look: to be called when events begin to wait for their acknowledgement. */
  check(): void {
    if (this.#over) return;
    const { clock, times, idle, unackedSince } = this.#options;
    const now = clock.monotonic();
    const resumed = wasSuspended(this.#last, { monotonic: now, wall: clock.now() });
    const verdict = judgeLiveness(
      { now, heardAt: this.#heardAt, probedAt: this.#probedAt, unackedSince: unackedSince(), resumed },
      { ...times, keepaliveMs: idle.pauseMs() },
    );
    if (verdict.action === "dead") {
      this[Symbol.dispose]();
      this.#options.onDead();
      return;
    }
    if (verdict.action === "probe") {
      this.#probedAt = now;
      this.#pongFor = now;
      // A machine that slept learned nothing of the network.
      this.#silenceMs = resumed || unackedSince() !== undefined ? undefined : now - this.#heardAt;
      this.#options.probe();
    }
    this.#last = this.#arm(Math.min(verdict.nextMs, LONGEST_CHECK_MS));
  }

  [Symbol.dispose](): void {
    // Unanswered, or answered by a reset.
    if (!this.#over && this.#silenceMs !== undefined) this.#options.idle.lost(this.#silenceMs);
    this.#over = true;
    this.#timer?.[Symbol.dispose]();
  }

  #arm(dueInMs: number): Check {
    const { clock } = this.#options;
    this.#timer?.[Symbol.dispose]();
    this.#timer = clock.timer(dueInMs, () => this.check());
    return { monotonic: clock.monotonic(), wall: clock.now(), dueInMs };
  }
}
