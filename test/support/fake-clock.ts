import type { Clock } from "../../src/lib/clock.ts";
import { sleepWithTimer } from "../../src/lib/clock.ts";

interface PendingTimer {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
}

// 2026-01-01T00:00:00Z: some time of day that no test mistakes for the machine's own.
const DEFAULT_START = 1_767_225_600_000;

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #wall: number;
  #monotonic = 0;
  #order = 0;
  readonly #timers = new Set<PendingTimer>();

  /** @param start time of day in milliseconds since the Unix epoch */
  constructor(start: number = DEFAULT_START) {
    this.#wall = start;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
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

  /** Milliseconds until the next timer fires; `undefined` where there is none. */
  get untilNext(): number | undefined {
    const next = this.#next();
    return next && next.due - this.#monotonic;
  }

  /**
   * Lets `ms` milliseconds pass. Timers fire in the order they are due, those due at once in the order they were set,
   * each with the clock at its own time; what they set off runs before the next one, as far as it waits for promises
   * and not for I/O. Timers set on the way fire too if they are due by the end.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (let next = this.#next(); next && next.due <= end; next = this.#next()) {
      this.#moveTo(next.due);
      this.#timers.delete(next);
      next.callback();
      await settle();
    }
    this.#moveTo(end);
  }

  /** Moves the time of day by `ms` milliseconds in either direction, as a time server or a technician does. No timer notices. */
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

/** One turn of the event loop: every promise reaction that is ready has run by its end. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
