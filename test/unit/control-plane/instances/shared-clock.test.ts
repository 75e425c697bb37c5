import fc from "fast-check";
import { expect, test } from "vitest";
import { SharedClock } from "../../../../src/control-plane/instances/shared-clock.ts";
import type { Instance, SharedTime } from "../../../../src/control-plane/store/instances.ts";
import type { Clock } from "../../../../src/lib/clock.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { captureLog } from "../../../support/link/log-capture.ts";

const LEASE_MS = 10_000;
const HOUR_MS = 3_600_000;

/** A database whose machine has a clock of its own, and the instances that are on record in it. */
class FakeDatabase {
  /** Time that passes for all. */
  readonly world = new FakeClock();
  /** By how much the clock of its machine is wrong. */
  aheadMs = 0;
  instances: Instance[] = [];
  time: Omit<SharedTime, "nowMs"> = { shiftMs: 0, version: 0 };

  get now(): number {
    return this.world.now() + this.aheadMs;
  }

  async readTime(): Promise<SharedTime> {
    return { ...this.time, nowMs: this.now };
  }

  async changeShift(version: number, shiftMs: number): Promise<boolean> {
    if (version !== this.time.version) return false;
    this.time = { shiftMs, version: version + 1 };
    return true;
  }

  async list(): Promise<readonly Instance[]> {
    return this.instances;
  }

  renew(id: string, nowMs: number): void {
    const lease = { id, version: "1", startedAtMs: 0, leaseUntilMs: nowMs + LEASE_MS, isStopping: false };
    this.instances = [...this.instances.filter((other) => other.id !== id), lease];
  }
}

/** @param machine differences of the instance's machine */
async function open(database: FakeDatabase, instanceId = "ins_1", machine: Partial<Clock> = {}) {
  const { logger, lines } = captureLog();
  const { world } = database;
  const own: Clock = {
    now: () => world.now(),
    timeOfDay: () => world.now(),
    deletionTime: () => world.now(),
    monotonic: () => world.monotonic(),
    timer: (ms, callback) => world.timer(ms, callback),
    sleep: (ms, signal) => world.sleep(ms, signal),
    ...machine,
  };
  const shared = await SharedClock.open({ instances: database, instanceId, clock: own, logger });
  return { shared, lines };
}

test("instances whose machines disagree by ten minutes have the time of the database", async () => {
  const database = new FakeDatabase();
  const { world } = database;
  const early = await open(database, "ins_1", { now: () => world.now() - 600_000, monotonic: () => world.monotonic() });
  const late = await open(database, "ins_2", {
    now: () => world.now() + 600_000,
    monotonic: () => 7 + world.monotonic(),
  });
  await world.advance(3_333);
  for (const { shared } of [early, late]) {
    expect([shared.now(), shared.serviceNow()]).toEqual([database.now, database.now]);
    shared[Symbol.dispose]();
  }
  expect(world.pending).toBe(0);
});

test.each([HOUR_MS, -HOUR_MS])(
  "a jump of the database's clock by %i ms moves no deadline, for any instance",
  async (ms) => {
    const database = new FakeDatabase();
    const first = await open(database, "ins_1");
    const second = await open(database, "ins_2");
    for (const [index, { shared }] of [first, second].entries())
      database.renew(`ins_${index + 1}`, shared.serviceNow());
    const before = first.shared.serviceNow();
    database.aheadMs = ms;
    await database.world.advance(12_000);
    for (const { shared } of [first, second]) {
      expect([shared.serviceNow(), shared.now()]).toEqual([before + 12_000, database.now]);
    }
    expect(database.time).toEqual({ shiftMs: ms, version: 1 });
    expect([...first.lines, ...second.lines].map(({ msg }) => msg)).toEqual([
      "the database's clock has jumped; deadlines are not affected",
    ]);
    // One that starts later has the same time.
    const third = await open(database, "ins_3");
    expect(third.shared.serviceNow()).toBe(first.shared.serviceNow());
  },
);

test("an instance whose machine stood still takes the time of the others", async () => {
  const database = new FakeDatabase();
  let stoodMs = 0;
  const paused = await open(database, "ins_1", { monotonic: () => database.world.monotonic() - stoodMs });
  const other = await open(database, "ins_2");
  await database.world.advance(4_000);
  stoodMs = 3_000_000;
  database.world.jump(3_000_000);
  await database.world.advance(0);
  // The other's machine did not stand still.
  const running = await open(database, "ins_2");
  database.renew("ins_2", running.shared.serviceNow());
  await paused.shared.update();
  expect(paused.shared.serviceNow()).toBe(running.shared.serviceNow());
  expect(database.time.version).toBe(0);
  other.shared[Symbol.dispose]();
});

test("while the database cannot be read, time goes on", async () => {
  const database = new FakeDatabase();
  const { shared, lines } = await open(database);
  const before = shared.serviceNow();
  database.readTime = async () => {
    throw new Error("away");
  };
  await database.world.advance(60_000);
  expect(shared.serviceNow()).toBe(before + 60_000);
  expect(lines.filter(({ msg }) => msg !== "cannot read the database's time")).toEqual([]);
});

test("whatever the database's clock does, and whoever notices first, the service's time is the time that passes", async () => {
  const step = fc.record({
    ms: fc.integer({ min: 0, max: 20_000 }),
    jumpMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: -4, max: 4 }).map((hours) => hours * HOUR_MS),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.integer({ min: 0, max: 5_000 }), async (steps, laterMs) => {
      const database = new FakeDatabase();
      const { world } = database;
      const rigs = [await open(database, "ins_1")];
      await world.advance(laterMs);
      rigs.push(await open(database, "ins_2"));
      const start = world.now();
      let passedMs = 0;
      for (const { ms, jumpMs } of steps) {
        database.aheadMs += jumpMs;
        for (const [index, { shared }] of rigs.entries()) database.renew(`ins_${index + 1}`, shared.serviceNow());
        await world.advance(ms);
        passedMs += ms;
        for (const { shared } of rigs) expect(shared.serviceNow()).toBe(start + passedMs);
      }
      await world.advance(5_000);
      for (const { shared } of rigs) {
        expect(shared.now()).toBe(database.now);
        shared[Symbol.dispose]();
      }
    }),
    { numRuns: 50 },
  );
});
