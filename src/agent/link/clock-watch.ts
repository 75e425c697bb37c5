import { type Clock, pause } from "../../lib/clock.ts";
import { isClockWrong, type ServiceTime } from "../core/link/service-time.ts";

/** Between two looks, each of which is a subtraction. */
const LOOK_INTERVAL_MS = 300_000;

/** Watches whether the device's time of day is the control plane's, as far as that has said what it is. */
export class ClockWatch {
  readonly #clock: Clock;
  readonly #watchers = new Set<() => void>();
  #service: ServiceTime | undefined;
  #isWrong = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** As of the last look. */
  get isWrong(): boolean {
    return this.#isWrong;
  }

  /** Calls `watcher` when the clock is wrong, and when it is right again, until disposed. */
  onChange(watcher: () => void): Disposable {
    this.#watchers.add(watcher);
    return { [Symbol.dispose]: () => this.#watchers.delete(watcher) };
  }

  /** Returns the time for `onServiceTime`, in milliseconds. */
  elapsed(): number {
    return this.#clock.sinceBoot?.() ?? this.#clock.monotonic();
  }

  /**
   * Must be called when the control plane says its time.
   *
   * @param askedAtMs when it was asked, as of `elapsed`
   */
  onServiceTime(timeS: number, askedAtMs: number): void {
    const arrivedAtMs = this.elapsed();
    this.#service = { timeMs: timeS * 1000, arrivedAtMs, delayMs: arrivedAtMs - askedAtMs };
    this.#look();
  }

  /** Looks at intervals until the signal aborts: a time service may set the clock at any time. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#look();
      await pause(this.#clock, LOOK_INTERVAL_MS, signal);
    }
  }

  #look(): void {
    if (!this.#service) return;
    const isWrong = isClockWrong(this.#service, this.#clock.timeOfDay(), this.elapsed(), this.#isWrong);
    if (isWrong === this.#isWrong) return;
    this.#isWrong = isWrong;
    for (const watcher of this.#watchers) watcher();
  }
}
