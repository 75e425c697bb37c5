import type { Clock } from "../../src/lib/clock.ts";
import { sleepWithTimer } from "../../src/lib/clock.ts";

interface PendingTimer {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
}

// 2026-01-01T00:00:00Z: differs from the machine's own time.
const DEFAULT_START = 1_767_225_600_000;

/** A clock that only moves when a test advances it. */
export class FakeClock implements Clock {
  #wall: number;
  readonly #start: number;
  #monotonic = 0;
  #order = 0;
  readonly #timers = new Set<PendingTimer>();

  /** @param start time of day in milliseconds since the Unix epoch */
  constructor(start: number = DEFAULT_START) {
    this.#wall = start;
    this.#start = start;
  }

  now(): number {
    return this.#wall;
  }

  timeOfDay(): number {
    return this.#wall;
  }

  deletionTime(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** As `ServiceClock`: does not follow when the time of day jumps. */
  serviceNow(): number {
    return this.#start + this.#monotonic;
  }

  timer(ms: number, callback: () => void): Disposable {
    const timer: PendingTimer = { due: this.#monotonic + Math.max(0, ms), order: this.#order++, callback };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWithTimer(this, ms, signal);
  }

  /** Timers and sleepers that have not fired yet. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer fires; `undefined` without timers. */
  get untilNext(): number | undefined {
    const next = this.#next();
    return next && next.due - this.#monotonic;
  }

  /**
   * Advances the clock by `ms` milliseconds. Timers fire in the order of their due times, then in the order they were
   * set, each with the clock at its due time. Promise reactions of a timer, and what it writes to a store in this process,
   * are awaited before the next timer fires; other I/O is not. New timers that are due by the end fire too.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (let next = this.#next(); next && next.due <= end; next = this.#next()) {
      this.#moveTo(Math.max(next.due, this.#monotonic));
      this.#timers.delete(next);
      next.callback();
      await settle();
    }
    this.#moveTo(end);
  }

  /** Lets `ms` milliseconds pass in which no timer fires: those that are due fire with the next advance. */
  pass(ms: number): void {
    this.#moveTo(this.#monotonic + ms);
  }

  /** Changes the wall clock by `ms` milliseconds, as NTP does. Timers are not affected. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  #next(): PendingTimer | undefined {
    let next: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (!next || timer.due < next.due || (timer.due === next.due && timer.order < next.order)) next = timer;
    }
    return next;
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

/** More than the store takes one after the other for what a timer begins: each change of it takes a turn. */
const SETTLING_TURNS = 8;

/** Waits for some turns of the event loop, so that pending promise reactions have run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLING_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
}
