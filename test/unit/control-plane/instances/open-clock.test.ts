import { expect, test } from "vitest";
import { openClock } from "../../../../src/control-plane/instances/open-clock.ts";
import { DELETE_AFTER_MS, FOLLOW_AFTER_MS, type TimeMark } from "../../../../src/lib/steady-time.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { captureLog } from "../../../support/link/log-capture.ts";

const TEN_YEARS = 3_650 * 86_400_000;

/** A database with a clock of its own, and the time that passes for all instances. */
function newDatabase() {
  const world = new FakeClock();
  const state = { aheadMs: 0, shiftMs: 0, version: 0, setBack: 0, mark: undefined as TimeMark | undefined };
  const store = {
    isShared: true,
    instances: {
      readTime: async () => ({ nowMs: world.now() + state.aheadMs, shiftMs: state.shiftMs, version: state.version }),
      changeShift: async (version: number, shiftMs: number) => {
        if (version !== state.version) return false;
        Object.assign(state, { shiftMs, version: version + 1 });
        return true;
      },
      list: async () => [],
    },
    times: {
      readMark: async () => state.mark,
      saveMark: async (mark: TimeMark) => void (state.mark = mark),
      setBack: async () => (state.setBack++, 0),
    },
  };
  const start = (instanceId: string) =>
    openClock({ store: store as never, instanceId, clock: world, logger: captureLog().logger });
  return { world, state, start };
}

test("instances that share a database do not follow its clock where it jumps, and agree with each other", async () => {
  const { world, state, start } = newDatabase();
  using one = await start("ins_1");
  using other = await start("ins_2");
  const times = () =>
    [one, other].flatMap((clock) => [clock.now(), clock.deletionTime()].map((ms) => ms - world.now()));
  await world.advance(60_000);
  expect(times()).toEqual([0, 0, 0, 0]);
  state.aheadMs = TEN_YEARS;
  await world.advance(75_000);
  expect(times()).toEqual([0, 0, 0, 0]);
  expect(one.unbelievedJump()).toMatchObject({ ms: TEN_YEARS });
  // One that starts meanwhile deletes nothing, and is right as soon as the database is.
  using late = await start("ins_3");
  expect(late.deletionTime() - world.now()).toBeLessThan(60_000);
  const before = state.setBack;
  state.aheadMs = 0;
  await world.advance(75_000);
  expect([...times(), late.now() - world.now()]).toEqual([0, 0, 0, 0, 0]);
  expect(state.setBack).toBe(before + 1);
});

test("a clock of the database that stays where it jumped is believed by all at the same time", async () => {
  const { world, state, start } = newDatabase();
  using one = await start("ins_1");
  using other = await start("ins_2");
  await world.advance(60_000);
  state.aheadMs = TEN_YEARS;
  await world.advance(FOLLOW_AFTER_MS - 60_000);
  expect([one, other].map((clock) => clock.now() - world.now())).toEqual([0, 0]);
  await world.advance(3 * 60_000);
  expect([one, other].map((clock) => clock.now() - world.now())).toEqual([TEN_YEARS, TEN_YEARS]);
  await world.advance(DELETE_AFTER_MS);
  expect([one, other].map((clock) => clock.deletionTime() - world.now())).toEqual([TEN_YEARS, TEN_YEARS]);
});
