import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deadline, foregroundClock, pause, systemClock } from "../../../src/lib/clock.ts";

const DAY_MS = 24 * 60 * 60_000;
/** Maximum of setTimeout; a longer timer fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

describe("the system clock, for waits longer than the maximum of setTimeout", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("fires after the whole time, once", () => {
    let fired = 0;
    systemClock.timer(60 * DAY_MS, () => void fired++);
    vi.advanceTimersByTime(60 * DAY_MS - 1);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
    vi.advanceTimersByTime(100 * DAY_MS);
    expect(fired).toBe(1);
  });

  it("fires exactly when due, around the boundaries of the parts", () => {
    const waits = fc.oneof(
      fc.integer({ min: 0, max: 10_000 }),
      fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: -2, max: 2 })).map(([n, by]) => n * MAX_TIMER_MS + by),
      fc.integer({ min: 0, max: 400 * DAY_MS }),
    );
    fc.assert(
      fc.property(waits, (ms) => {
        const began = Date.now();
        let firedAfter: number | undefined;
        systemClock.timer(ms, () => void (firedAfter = Date.now() - began));
        vi.advanceTimersByTime(ms + 10);
        expect(firedAfter).toBe(ms);
      }),
    );
  });

  it("does not fire after disposal at any time", () => {
    for (const after of [0, MAX_TIMER_MS + 1, 50 * DAY_MS]) {
      const timer = systemClock.timer(60 * DAY_MS, () => expect.unreachable());
      vi.advanceTimersByTime(after);
      timer[Symbol.dispose]();
      vi.advanceTimersByTime(100 * DAY_MS);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it("never fires for an infinite time", () => {
    const timer = systemClock.timer(Infinity, () => expect.unreachable());
    vi.advanceTimersByTime(3_650 * DAY_MS);
    timer[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("sleeps and sets deadlines for so long", async () => {
    let slept = false;
    const sleeping = systemClock.sleep(40 * DAY_MS).then(() => (slept = true));
    using limit = deadline(systemClock, 40 * DAY_MS);
    await vi.advanceTimersByTimeAsync(40 * DAY_MS - 1);
    expect([slept, limit.signal.aborted]).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(1);
    await sleeping;
    expect(limit.signal.aborted).toBe(true);
    const stop = new AbortController();
    const cut = systemClock.sleep(40 * DAY_MS, stop.signal);
    await vi.advanceTimersByTimeAsync(30 * DAY_MS);
    stop.abort(new Error("enough"));
    await expect(cut).rejects.toThrow("enough");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("keeps a command alive for so long, and no longer", async () => {
    let slept = false;
    // A service may request any pause with Retry-After.
    const sleeping = foregroundClock.sleep(40 * DAY_MS).then(() => (slept = true));
    await vi.advanceTimersByTimeAsync(40 * DAY_MS - 1);
    expect([slept, vi.getTimerCount()]).toEqual([false, 2]);
    await vi.advanceTimersByTimeAsync(1);
    await sleeping;
    expect(vi.getTimerCount()).toBe(0);
    const stop = new AbortController();
    const cut = foregroundClock.sleep(40 * DAY_MS, stop.signal);
    stop.abort(new Error("enough"));
    await expect(cut).rejects.toThrow("enough");
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("a pause ends early with its signal, without an error", async () => {
  const stop = new AbortController();
  const paused = pause(systemClock, 60_000, stop.signal);
  stop.abort(new Error("stopping"));
  await expect(paused).resolves.toBeUndefined();
  await expect(pause(systemClock, 60_000, stop.signal)).resolves.toBeUndefined();
});

it("an error of the clock is not taken for the signal's", async () => {
  const broken = { sleep: () => Promise.reject(new Error("broken")) };
  await expect(pause(broken, 1, new AbortController().signal)).rejects.toThrow("broken");
});
