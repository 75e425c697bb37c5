import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../src/lib/clock.ts";
import { parseTimeMark, SteadyClock } from "../../../src/lib/steady-clock.ts";
import {
  DELETE_AFTER_MS,
  FOLLOW_AFTER_MS,
  MAX_AWAY_MS,
  MAX_STEP_MS,
  type TimeMark,
} from "../../../src/lib/steady-time.ts";
import { captureLogText } from "../../support/captured-log.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const TEN_YEARS = 10 * 365 * DAY;

interface World {
  readonly isConfirmed?: () => boolean;
  readonly sinceBoot?: () => number;
}

/** Starts a process with this mark of the one before. */
function start(world: FakeClock, mark?: TimeMark, { isConfirmed = () => false, sinceBoot }: World = {}) {
  const log = captureLogText();
  const machine: Clock = {
    now: () => world.now(),
    timeOfDay: () => world.now(),
    deletionTime: () => world.now(),
    monotonic: () => world.monotonic(),
    timer: (ms, callback) => world.timer(ms, callback),
    sleep: (ms, signal) => world.sleep(ms, signal),
    ...(sinceBoot && { sinceBoot }),
  };
  const clock = new SteadyClock({ clock: machine, logger: log.logger, isConfirmed });
  const saved: TimeMark[] = [];
  clock.resume({ mark, save: (next) => void saved.push(next) });
  const lines = (): { readonly level: number; readonly msg: string }[] =>
    log
      .text()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { level: number; msg: string });
  const end = (): TimeMark => {
    clock[Symbol.dispose]();
    return saved.at(-1)!;
  };
  return { clock, lines, warnings: () => lines().filter(({ level }) => level === 40), end };
}

test("a time of day that does not jump is followed to the millisecond, also by small steps and drift", async () => {
  const world = new FakeClock();
  const { clock, warnings } = start(world);
  for (let hour = 0; hour < 200; hour++) {
    world.jump(hour % 2 === 0 ? 900 : 4_000);
    await world.advance(HOUR);
    expect([clock.now(), clock.deletionTime(), clock.timeOfDay()]).toEqual(Array(3).fill(world.now()));
  }
  expect(warnings()).toEqual([]);
  expect(clock.unbelievedJump()).toBeUndefined();
});

test.each([TEN_YEARS, -TEN_YEARS, 60 * DAY, 2 * HOUR, -2 * HOUR])(
  "a jump of %i ms that goes back is not followed, and is said once",
  async (jump) => {
    const world = new FakeClock();
    const { clock, warnings, lines } = start(world);
    await world.advance(HOUR);
    const before = world.now();
    world.jump(jump);
    expect(clock.now()).toBe(before);
    expect(clock.timeOfDay()).toBe(before + jump);
    await world.advance(75_000);
    expect(clock.now()).toBe(before + 75_000);
    expect(clock.deletionTime()).toBe(before + 75_000 + Math.min(0, jump));
    expect(clock.unbelievedJump()).toMatchObject({ ms: jump });
    world.jump(-jump);
    expect([clock.now(), clock.deletionTime()]).toEqual([before + 75_000, before + 75_000]);
    expect(clock.unbelievedJump()).toBeUndefined();
    expect(warnings()).toHaveLength(1);
    expect(lines().at(-1)).toMatchObject({ msg: "the time of day is believed again" });
  },
);

test("a time of day that stays where it jumped is believed: for records after an hour, for deletions after a day", async () => {
  const world = new FakeClock();
  const { clock } = start(world);
  await world.advance(HOUR);
  world.jump(60 * DAY);
  await world.advance(FOLLOW_AFTER_MS - 1_000);
  expect(world.now() - clock.now()).toBe(60 * DAY);
  await world.advance(61_000);
  expect(clock.now()).toBe(world.now());
  expect(world.now() - clock.deletionTime()).toBe(60 * DAY);
  expect(clock.unbelievedJump()).toMatchObject({ ms: 60 * DAY, recordsInMs: 0 });
  await world.advance(DELETE_AFTER_MS - FOLLOW_AFTER_MS);
  expect(clock.deletionTime()).toBe(world.now());
  expect(clock.unbelievedJump()).toBeUndefined();
});

test("each further jump begins the wait anew", async () => {
  const world = new FakeClock();
  const { clock } = start(world);
  for (let times = 0; times < 40; times++) {
    world.jump(HOUR);
    await world.advance(50 * 60_000);
  }
  expect(world.now() - clock.now()).toBe(40 * HOUR);
});

test("records follow at once where a time service stands behind the time of day, deletions do not", async () => {
  const world = new FakeClock();
  let isConfirmed = false;
  const { clock } = start(world, undefined, { isConfirmed: () => isConfirmed });
  world.jump(60 * DAY);
  expect(world.now() - clock.now()).toBe(60 * DAY);
  isConfirmed = true;
  expect(clock.now()).toBe(world.now());
  expect(world.now() - clock.deletionTime()).toBe(60 * DAY);
});

test("a machine that was suspended has not jumped", async () => {
  const world = new FakeClock();
  let asleep = 0;
  const { clock, warnings } = start(world, undefined, { sinceBoot: () => world.monotonic() + asleep });
  await world.advance(HOUR);
  asleep = 40 * DAY;
  world.jump(40 * DAY);
  expect([clock.now(), clock.deletionTime()]).toEqual([world.now(), world.now()]);
  expect(warnings()).toEqual([]);
});

test("a clock that is set for the first time is followed at once", async () => {
  const world = new FakeClock(0);
  const { clock } = start(world);
  await world.advance(10_000);
  world.jump(Date.UTC(2026, 10, 27));
  expect(clock.now()).toBe(world.now());
});

const markAt = (world: FakeClock): TimeMark => ({
  keptMs: world.now(),
  seenMs: world.now(),
  steadyMs: DELETE_AFTER_MS,
});

describe("over a restart", () => {
  test.each([0, HOUR, MAX_AWAY_MS])("a process that was off for %i ms believes the time of day", (away) => {
    const world = new FakeClock();
    const mark = markAt(world);
    world.pass(away);
    const { clock, warnings } = start(world, mark);
    expect([clock.now(), clock.deletionTime()]).toEqual([world.now(), world.now()]);
    expect(warnings()).toEqual([]);
  });

  test("one that was off for months dates by the time of day, and deletes after a day", async () => {
    const world = new FakeClock();
    const mark = markAt(world);
    world.pass(90 * DAY);
    const { clock, warnings } = start(world, mark);
    expect(clock.now()).toBe(world.now());
    expect(clock.deletionTime()).toBe(mark.keptMs);
    expect(warnings()).toHaveLength(1);
    await world.advance(DELETE_AFTER_MS);
    expect(clock.deletionTime()).toBe(world.now());
  });

  test("a day of running counts together where it is interrupted", async () => {
    const world = new FakeClock();
    let mark = markAt(world);
    world.pass(90 * DAY);
    for (let runs = 0; runs < 6; runs++) {
      const run = start(world, mark);
      expect(world.now() - run.clock.deletionTime()).toBeGreaterThan(80 * DAY);
      await world.advance(5 * HOUR);
      mark = run.end();
      world.pass(19 * HOUR);
      if (runs === 4) break;
    }
    expect(start(world, mark).clock.deletionTime()).toBe(world.now());
  });

  test("a start while the clock is ten years ahead deletes nothing, and what it was comes back at once", async () => {
    const world = new FakeClock();
    // Of up to an hour ago.
    const mark = markAt(world);
    world.pass(50 * 60_000);
    world.jump(TEN_YEARS);
    const { clock } = start(world, mark);
    let setBack = 0;
    clock.onSetBack = () => void setBack++;
    await world.advance(75_000);
    expect(clock.deletionTime()).toBe(mark.keptMs + 75_000);
    world.jump(-TEN_YEARS);
    expect([clock.now(), clock.deletionTime()]).toEqual([world.now(), world.now()]);
    expect(setBack).toBe(1);
    expect(clock.unbelievedJump()).toBeUndefined();
  });

  test("records of a start with an unset clock go on from the last time that was known", async () => {
    const world = new FakeClock();
    const mark = markAt(world);
    world.jump(-world.now());
    const { clock } = start(world, mark);
    await world.advance(30 * HOUR);
    expect(clock.now()).toBe(mark.keptMs + 30 * HOUR);
    world.jump(mark.keptMs + 31 * HOUR - world.now());
    await world.advance(FOLLOW_AFTER_MS + 60_000);
    expect(clock.now()).toBe(world.now());
  });

  test("a damaged mark is none", () => {
    for (const text of [undefined, null, "", "{}", "[]", '{"keptMs":"x"}', '{"keptMs":1,"seenMs":2}'])
      expect(parseTimeMark(text)).toBeUndefined();
    expect(parseTimeMark('{"keptMs":1,"seenMs":2,"steadyMs":3}')).toEqual({ keptMs: 1, seenMs: 2, steadyMs: 3 });
  });
});

test("whatever the clock does, what is deleted within a day of a jump is as old as time has really passed", async () => {
  const step = fc.oneof(
    fc.record({ jump: fc.integer({ min: -TEN_YEARS, max: TEN_YEARS }) }),
    fc.record({ pass: fc.integer({ min: 1_000, max: 6 * HOUR }) }),
    fc.record({ restart: fc.constant(true) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const world = new FakeClock();
      const began = world.now();
      let run = start(world);
      // An interval of a day without a jump lets a wrong time be believed: these last less in sum.
      let passed = 0;
      for (const each of steps) {
        if ("jump" in each) world.jump(each.jump);
        else if ("pass" in each && passed + each.pass < DELETE_AFTER_MS) {
          passed += each.pass;
          await world.advance(each.pass);
        } else if ("restart" in each) run = start(world, run.end());
        // After restarts the process may have been away for at most a week each time.
        const restarts = steps.filter((other) => "restart" in other).length;
        expect(run.clock.deletionTime()).toBeLessThanOrEqual(
          began + passed + restarts * MAX_AWAY_MS + 13 * MAX_STEP_MS,
        );
      }
    }),
    { numRuns: 200 },
  );
});
