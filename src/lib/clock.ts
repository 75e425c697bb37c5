/**
 * Time, injected so that tests can hold it. Whatever measures a duration uses `monotonic`: a gateway without a
 * real-time clock may find out in mid-flight that it is years later than it thought.
 */
export interface Clock {
  /** Time of day in milliseconds since the Unix epoch. May jump in both directions. */
  now(): number;
  /** Milliseconds since the machine booted. Never goes back while the machine is up. */
  monotonic(): number;
  /** Calls `callback` once after `ms` milliseconds, unless disposed before. Does not keep the process alive by itself. */
  timer(ms: number, callback: () => void): Disposable;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Returns the time of day in whole Unix seconds. */
export function unixNow(clock: Pick<Clock, "now">): number {
  return Math.floor(clock.now() / 1000);
}

// setTimeout fires at once for anything above 2^31-1 ms, 24.8 days. Longer waits, as for a month's budget, take several.
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint() / 1000n) / 1000,
  timer(ms, callback) {
    let left = Math.max(0, ms);
    const arm = (): NodeJS.Timeout => {
      const part = Math.min(left, MAX_TIMER_MS);
      left -= part;
      return setTimeout(left > 0 ? () => void (handle = arm()) : callback, part).unref();
    };
    let handle = arm();
    return { [Symbol.dispose]: () => clearTimeout(handle) };
  },
  sleep(ms, signal) {
    return sleepWithTimer(systemClock, ms, signal);
  },
};

/** The machine's clock for a command: while it sleeps, the process stays alive. */
export const foregroundClock: Clock = {
  ...systemClock,
  async sleep(ms, signal) {
    const keepAlive = setInterval(() => undefined, MAX_TIMER_MS);
    try {
      await systemClock.sleep(ms, signal);
    } finally {
      clearInterval(keepAlive);
    }
  },
};

/** `sleep` in terms of `timer`, for every implementation of `Clock`. */
export function sleepWithTimer(clock: Pick<Clock, "timer">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = (): void => {
      timer[Symbol.dispose]();
      reject(signal?.reason);
    };
    const timer = clock.timer(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Aborts when `parent` does, or after `ms` milliseconds with a `TimeoutError`. Dispose it to stop the timer. */
export function deadline(
  clock: Clock,
  ms: number,
  parent?: AbortSignal,
): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(parent?.reason);
  if (parent?.aborted) onAbort();
  parent?.addEventListener("abort", onAbort, { once: true });
  const timer = clock.timer(ms, () => controller.abort(new DOMException(`no answer within ${ms} ms`, "TimeoutError")));
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      parent?.removeEventListener("abort", onAbort);
    },
  };
}
