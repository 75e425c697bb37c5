import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { isClockWrong } from "../../../../src/agent/core/link/service-time.ts";
import { ClockWatch } from "../../../../src/agent/link/clock-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const MINUTE = 60_000;

describe("whether a clock is wrong", () => {
  const ms = fc.integer({ min: 0, max: 10 * 365 * 86_400_000 });
  const delay = fc.integer({ min: 0, max: 10 * MINUTE });

  test("one that is right never is, however slow the link was and however long ago that is", () => {
    fc.assert(
      fc.property(ms, delay, fc.nat(), ms, fc.boolean(), (timeMs, delayMs, part, laterMs, wasWrong) => {
        // The message was on its way for some of the time that passed between the question and its arrival.
        const onItsWayMs = part % (delayMs + 1);
        const timeOfDay = timeMs + onItsWayMs + laterMs;
        expect(isClockWrong({ timeMs, arrivedAtMs: 5, delayMs }, timeOfDay, 5 + laterMs, wasWrong)).toBe(false);
      }),
    );
  });

  test("one that is more than a minute off, besides what the link explains, always is, until it is half a minute off", () => {
    fc.assert(
      fc.property(
        ms,
        delay,
        fc.integer({ min: MINUTE + 1, max: 1e12 }),
        fc.boolean(),
        (timeMs, delayMs, off, isAhead) => {
          const service = { timeMs, arrivedAtMs: 0, delayMs };
          const at = (difference: number) => timeMs + (isAhead ? delayMs + difference : -difference);
          expect(isClockWrong(service, at(off), 0, false)).toBe(true);
          expect(isClockWrong(service, at(MINUTE), 0, false)).toBe(false);
          expect(isClockWrong(service, at(MINUTE), 0, true)).toBe(true);
          expect(isClockWrong(service, at(MINUTE / 2), 0, true)).toBe(false);
        },
      ),
    );
  });
});

test("the watch tells that the clock is wrong once the service has said the time, and that it was set right", async () => {
  const clock = new FakeClock();
  const watch = new ClockWatch(clock);
  const changes: boolean[] = [];
  using _changes = watch.onChange(() => changes.push(watch.isWrong));
  const stop = new AbortController();
  onTestFinished(() => stop.abort(new Error("test over")));
  const running = watch.run(stop.signal).catch(() => undefined);
  await clock.advance(10 * MINUTE);
  expect(changes).toEqual([]);
  const nowS = Math.floor(clock.timeOfDay() / 1000);
  watch.onServiceTime(nowS - 3_600, watch.elapsed());
  expect(changes).toEqual([true]);
  // A time service sets it.
  clock.jump(-3_600_000);
  await clock.advance(5 * MINUTE);
  expect([changes, watch.isWrong]).toEqual([[true, false], false]);
  stop.abort(new Error("test over"));
  await running;
});
