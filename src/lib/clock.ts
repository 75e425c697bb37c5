import { uptime } from "node:os";
import type { ClockJump } from "./steady-time.ts";

/**
 * Time, injected so that tests can control it. Durations are measured with `monotonic`: on a gateway without a
 * real-time clock the time of day may jump by years.
 */
export interface Clock {
  /**
   * The time of records, and of what expires, in milliseconds since the Unix epoch. In a service and a daemon it follows no jump of
   * the time of day until that is believed: `SteadyClock`.
   */
  now(): number;
  /**
   * Time of day as the system says it, in milliseconds since the Unix epoch. May jump in both directions. For what others are told,
   * or said: certificates, times of the engine, `Retry-After`.
   */
  timeOfDay(): number;
  /** The time by which something old may be deleted, in milliseconds since the Unix epoch: never ahead of the other two. */
  deletionTime(): number;
  /** Milliseconds since the machine booted. Never goes back while the machine runs. Stands still while it is suspended. */
  monotonic(): number;
  /** The jump that `now` or `deletionTime` do not follow yet. */
  unbelievedJump?(): ClockJump | undefined;
  /** As `monotonic`, with the time in which the machine was suspended. Absent: never. */
  sinceBoot?(): number;
  /** Calls `callback` once after `ms` milliseconds, unless disposed before. Does not keep the process alive. */
  timer(ms: number, callback: () => void): Disposable;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Returns the time of day in whole Unix seconds. */
export function unixNow(clock: Pick<Clock, "now">): number {
  return Math.floor(clock.now() / 1000);
}

// setTimeout fires at once for more than 2^31-1 ms (24.8 days). Longer waits, as for a month's budget, are split.
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  timeOfDay: () => Date.now(),
  deletionTime: () => Date.now(),
  sinceBoot: () => uptime() * 1000,
  monotonic: () => Number(process.hrtime.bigint() / 1000n) / 1000,
  timer(ms, callback) {
    let remaining = Math.max(0, ms);
    const arm = (): NodeJS.Timeout => {
      const part = Math.min(remaining, MAX_TIMER_MS);
      remaining -= part;
      return setTimeout(remaining > 0 ? () => void (handle = arm()) : callback, part).unref();
    };
    let handle = arm();
    return { [Symbol.dispose]: () => clearTimeout(handle) };
  },
  sleep(ms, signal) {
    return sleepWithTimer(systemClock, ms, signal);
  },
};

/** The system clock for a command: `sleep` keeps the process alive. */
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

/** Implements `Clock.sleep` with `Clock.timer`. */
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

/** Sleeps, and resolves early when the signal aborts: for loops that look at the signal themselves. */
export async function pause(clock: Pick<Clock, "sleep">, ms: number, signal: AbortSignal): Promise<void> {
  await clock.sleep(ms, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Aborts when `parent` aborts, or with a `TimeoutError` after `ms` milliseconds. Dispose it to stop the timer. */
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
