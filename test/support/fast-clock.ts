import { type Clock, sleepWithTimer, systemClock } from "../../src/lib/clock.ts";

/** The system clock sped up by a factor, for tests of long timeouts on real sockets. */
export function fastClock(times: number): Clock {
  const began = { now: systemClock.now(), monotonic: systemClock.monotonic() };
  const clock: Clock = {
    now: () => began.now + (systemClock.now() - began.now) * times,
    timeOfDay: () => clock.now(),
    deletionTime: () => clock.now(),
    monotonic: () => began.monotonic + (systemClock.monotonic() - began.monotonic) * times,
    timer: (ms, callback) => systemClock.timer(ms / times, callback),
    sleep: (ms, signal) => sleepWithTimer(clock, ms, signal),
  };
  return clock;
}
