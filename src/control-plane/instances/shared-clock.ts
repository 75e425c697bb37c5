import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { Repeat } from "../../lib/repeat.ts";
import type { InstanceStore, SharedTime } from "../store/instances.ts";
import type { ServiceClock } from "./service-clock.ts";

const SAMPLE_INTERVAL_MS = 5_000;
/** Largest difference between two samples that is taken for inaccuracy. */
const MAX_DRIFT_MS = 5_000;
/** A sample that took longer tells too little. */
const MAX_ROUND_TRIP_MS = 1_000;

export interface SharedClockOptions {
  readonly instances: Pick<InstanceStore, "readTime" | "changeShift" | "list">;
  readonly instanceId: string;
  /** Of this machine; only its monotonic time counts. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The time of the database, the same for all instances whatever the clocks of their machines say. It is read every five
 * seconds and measured with the monotonic clock in between. The service time does not follow when the database's clock jumps:
 * the instance that notices it records by how much, for all.
 */
export class SharedClock implements Clock, ServiceClock, Disposable {
  readonly #options: SharedClockOptions;
  /** Add these to the monotonic time. */
  #offsetMs = 0;
  #serviceOffsetMs = 0;
  #lastServiceMs = -Infinity;
  #repeat: Repeat | undefined;

  private constructor(options: SharedClockOptions) {
    this.#options = options;
  }

  /** Reads the time, and again from then on. Throws if the store cannot be read. */
  static async open(options: SharedClockOptions): Promise<SharedClock> {
    const clock = new SharedClock(options);
    const { time, atMs } = await clock.#sample();
    clock.#adopt(time, atMs);
    clock.#repeat = new Repeat(options.clock, SAMPLE_INTERVAL_MS, () => clock.#updateQuietly());
    return clock;
  }

  /** Time of day. */
  now(): number {
    return Math.floor(this.monotonic() + this.#offsetMs);
  }

  timeOfDay(): number {
    return this.now();
  }

  deletionTime(): number {
    return this.now();
  }

  serviceNow(): number {
    this.#lastServiceMs = Math.max(this.#lastServiceMs, Math.floor(this.monotonic() + this.#serviceOffsetMs));
    return this.#lastServiceMs;
  }

  monotonic(): number {
    return this.#options.clock.monotonic();
  }

  timer(ms: number, callback: () => void): Disposable {
    return this.#options.clock.timer(ms, callback);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#options.clock.sleep(ms, signal);
  }

  /** Reads the time now. */
  async update(): Promise<void> {
    const { time, atMs, roundTripMs } = await this.#sample();
    if (roundTripMs > MAX_ROUND_TRIP_MS) return;
    const jumpMs = Math.round(time.nowMs - atMs - time.shiftMs - this.#serviceOffsetMs);
    if (Math.abs(jumpMs) <= MAX_DRIFT_MS) return this.#adopt(time, atMs);
    // While the others agree with the database, it was this machine whose clock stood still.
    if (jumpMs > 0 && (await this.#isRunningElsewhere(time))) return this.#adopt(time, atMs);
    // Another instance may be about to do the same, with the same result. The next sample has it.
    if (!(await this.#options.instances.changeShift(time.version, time.shiftMs + jumpMs))) return;
    this.#options.logger.warn({ ms: jumpMs }, "the database's clock has jumped; deadlines are not affected");
    this.#adopt({ ...time, shiftMs: time.shiftMs + jumpMs }, atMs);
  }

  [Symbol.dispose](): void {
    this.#repeat?.[Symbol.dispose]();
  }

  #adopt({ nowMs, shiftMs }: SharedTime, atMs: number): void {
    this.#offsetMs = nowMs - atMs;
    this.#serviceOffsetMs = this.#offsetMs - shiftMs;
  }

  /** Whether another instance has a lease that is valid if the database's clock has not jumped. */
  async #isRunningElsewhere({ nowMs, shiftMs }: SharedTime): Promise<boolean> {
    const { instances, instanceId } = this.#options;
    return (await instances.list()).some((other) => other.id !== instanceId && other.leaseUntilMs > nowMs - shiftMs);
  }

  async #sample(): Promise<{ readonly time: SharedTime; readonly atMs: number; readonly roundTripMs: number }> {
    const before = this.monotonic();
    const time = await this.#options.instances.readTime();
    const roundTripMs = this.monotonic() - before;
    return { time, atMs: before + roundTripMs / 2, roundTripMs };
  }

  async #updateQuietly(): Promise<void> {
    try {
      await this.update();
    } catch (error) {
      // The loss of the database is reported by those who need it.
      this.#options.logger.debug({ err: error }, "cannot read the database's time");
    }
  }
}
