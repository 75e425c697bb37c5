import { expect, test } from "vitest";
import type { TrafficEntry } from "../../../../src/agent/core/traffic/entry.ts";
import { BudgetWatch } from "../../../../src/agent/ledger/budget-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Noon of 11 November: 19.5 days are left. */
const NOW = Date.UTC(2026, 10, 11, 12);
const MONTHLY = 1_000_000_000;

const dayBefore = (days: number): string => new Date(NOW - days * DAY).toISOString().slice(0, 10);
const entry = (day: string, bytes: number, fields: Partial<TrafficEntry> = {}): TrafficEntry => ({
  day,
  network: "modem",
  purpose: "pulls",
  app: "",
  deployment: "",
  sent: 0,
  received: bytes,
  overhead: 0,
  ...fields,
});

function rig(traffic: readonly TrafficEntry[], monthlyBytes: number | null = MONTHLY, now = NOW) {
  const clock = new FakeClock(now);
  const state = { traffic, reads: 0, fails: false };
  const ledger = {
    read(from: string, to: string) {
      state.reads++;
      if (state.fails) throw new Error("SQLITE_CORRUPT");
      return { traffic: state.traffic.filter(({ day }) => day >= from && day <= to), interfaces: [] };
    },
  };
  const watch = new BudgetWatch({
    policy: { metered: ["modem"], monthlyBytes: monthlyBytes ?? undefined },
    ledger,
    clock,
  });
  const told: boolean[] = [];
  watch.onChange(() => told.push(watch.isLow));
  const end = new AbortController();
  const running = watch.run(end.signal);
  return { clock, state, watch, told, [Symbol.asyncDispose]: async () => (end.abort(), running) };
}

const daily = (megabytes: number, count = 7, network: TrafficEntry["network"] = "modem"): TrafficEntry[] =>
  Array.from({ length: count }, (_, index) => entry(dayBefore(index + 1), megabytes * 1e6, { network }));

test.each([
  ["45 MB a day, of which 315 are used: 1.19 GB", daily(45), true],
  ["30 MB a day: 0.8 GB", daily(30), false],
  ["one download of 600 MB", [entry(dayBefore(2), 600e6)], false],
  ["as much on three of seven days", daily(200, 3), false],
  ["as much on four of seven days", daily(200, 4), true],
  ["a budget that is spent", [entry(dayBefore(0), 1_000e6)], true],
  ["what was spent in October", [entry("2026-10-30", 2_000e6)], false],
  ["over a network that is not metered", daily(45, 7, "ethernet"), false],
])("%s: low is %s", async (_what, traffic, isLow) => {
  await using r = rig(traffic);
  expect([r.watch.isLow, r.told.length]).toEqual([isLow, isLow ? 1 : 0]);
});

test("it is told once, again when the budget lasts with some to spare, and with the month it is over", async () => {
  await using r = rig(daily(45));
  expect(r.told).toEqual([true]);
  r.state.traffic = daily(36);
  await r.clock.advance(HOUR);
  // 252 + 19.5 × 36 MB are less than the budget, and more than nine tenths of it.
  expect(r.told).toEqual([true]);
  r.state.traffic = daily(30);
  await r.clock.advance(HOUR);
  expect(r.told).toEqual([true, false]);
  r.state.traffic = [entry(dayBefore(0), MONTHLY)];
  await r.clock.advance(HOUR);
  expect(r.told).toEqual([true, false, true]);
  for (let hour = 0; hour < 20 * 24; hour++) await r.clock.advance(HOUR);
  expect(r.told).toEqual([true, false, true, false]);
});

test("a ledger that cannot be read changes nothing; without a budget or a clock it is not read", async () => {
  await using failing = rig(daily(45));
  failing.state.fails = true;
  failing.state.traffic = [];
  await failing.clock.advance(HOUR);
  expect([failing.watch.isLow, failing.state.reads]).toEqual([true, 2]);
  await using free = rig(daily(45), null);
  await free.clock.advance(HOUR);
  expect([free.watch.isLow, free.state.reads]).toEqual([false, 0]);
  await using unset = rig(daily(45), MONTHLY, 0);
  expect([unset.watch.isLow, unset.state.reads]).toEqual([false, 0]);
});
