import { type Clock, sleepWithTimer } from "../../src/lib/clock.ts";
import { FakeClock } from "./fake-clock.ts";

/** A clock that something moves on for as long as anybody waits for it. Without a timer its time stands still. */
export abstract class DrivenClock implements Clock {
  readonly #clock: FakeClock;
  #isMoving = false;

  constructor(clock: FakeClock = new FakeClock()) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  timeOfDay(): number {
    return this.#clock.now();
  }

  deletionTime(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  timer(ms: number, callback: () => void): Disposable {
    const timer = this.#clock.timer(ms, callback);
    if (!this.#isMoving) void this.#move();
    return timer;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWithTimer(this, ms, signal);
  }

  /** Waits until the time may pass, and moves the clock. Called again and again while timers are pending. */
  protected abstract advance(clock: FakeClock): Promise<void>;

  async #move(): Promise<void> {
    this.#isMoving = true;
    while (this.#clock.pending > 0) await this.advance(this.#clock);
    this.#isMoving = false;
  }
}
