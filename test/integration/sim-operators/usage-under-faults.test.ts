import fc from "fast-check";
import { expect, test } from "vitest";
import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import {
  type OperatorSim,
  type SimOperator,
  SimOperatorError,
} from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import type { UsageTotal } from "../../../src/control-plane/core/usage-view.ts";
import { IdleClock } from "../../support/idle-clock.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import type { Fault, OperatorServer } from "../../support/sim-operators/operator-server.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 10, 1) / 1000;
const HOURS = 24 * 6;
const SID = `HS${"0d".repeat(16)}`;
const { signal } = new AbortController();

const fault: fc.Arbitrary<Fault> = fc.constantFrom<Fault>(
  { kind: "status", status: 500 },
  { kind: "status", status: 401 },
  { kind: "status", status: 429, headers: { "Retry-After": "1" } },
  { kind: "status", status: 404 },
  { kind: "html", status: 200 },
  { kind: "html", status: 502 },
  { kind: "text", text: '{"usage_records": [], "meta"' },
  { kind: "answer_lost" },
  { kind: "hang" },
);
/** Which requests for usage go wrong, by their number. */
const faultsUntil = (last: number) => fc.array(fc.record({ at: fc.nat({ max: last }), fault }), { maxLength: 5 });
const hour = fc.integer({ min: 0, max: HOURS });
const granularity = fc.constantFrom("all", "day", "month");
const usage = fc.array(fc.tuple(fc.nat({ max: HOURS - 1 }), fc.nat({ max: 2 ** 36 })), { maxLength: 40 });

/** The right totals, or an error that says why there are none: never others. */
async function expectRight(
  operator: SimOperator,
  sim: OperatorSim,
  { from, to, by }: { readonly from: number; readonly to: number; readonly by: "all" | "day" | "month" },
  expected: readonly UsageTotal[],
): Promise<"right" | "failed"> {
  try {
    expect(await operator.readUsage(sim, { start: from, end: to }, by, signal)).toEqual(expected);
    return "right";
  } catch (error) {
    if (!(error instanceof SimOperatorError)) throw error;
    return "failed";
  }
}

function totalsOf(used: ReadonlyMap<number, number>, from: number, to: number, by: "all" | "day" | "month") {
  const totals = new Map<number | undefined, number>();
  for (const [start, bytes] of used) {
    if (start < from || start >= to || bytes === 0) continue;
    const period = by === "all" ? undefined : by === "month" ? START : start - (start % DAY);
    totals.set(period, (totals.get(period) ?? 0) + bytes);
  }
  return [...totals].toSorted(([one = 0], [other = 0]) => one - other);
}

function setFaults(server: OperatorServer, pattern: RegExp, wanted: readonly { at: number; fault: Fault }[]): void {
  server.heal();
  for (const { at, fault: kind } of wanted) server.failAt(pattern, at, kind);
}

test("usage of a Super SIM is right or not there, whatever goes wrong, however its pages are cut", async () => {
  const clock = new IdleClock();
  await using kore = await SuperSimSimulator.start(clock);
  kore.addFleet("default_1gb");
  const { url, clientId, clientSecret, tokenUrl } = kore;
  const credentials = { clientId, clientSecret, tokenUrl };
  const state = { status: "active", networkGroup: "default_1gb" } as const;
  const sim: OperatorSim = { type: "supersim", iccid: "8988307000001234567", operatorId: SID, state };
  const ends = { right: 0, failed: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.record({ usage, faults: faultsUntil(12), from: hour, to: hour, by: granularity }),
      fc.integer({ min: 1, max: 20 }),
      fc.boolean(),
      async (given, pageSize, overlaps) => {
        kore.sims.clear();
        kore.addSim({ sid: SID, iccid: sim.iccid });
        Object.assign(kore, { pageSize, overlaps });
        const used = new Map(given.usage.map(([at, bytes]) => [START + at * HOUR, bytes]));
        for (const [time, bytes] of used) kore.use(SID, time, bytes);
        setFaults(kore, /UsageRecords/, given.faults);
        const [from, to] = [given.from, given.to]
          .map((at) => START + at * HOUR)
          .toSorted((one, other) => one - other) as [number, number];
        const expected = totalsOf(used, from, to, given.by).map(([periodStart, bytes]) => ({
          bucket: "default_1gb",
          periodStart,
          bytes,
        }));
        const operator = new SuperSimOperator({ url, credentials, clock });
        ends[await expectRight(operator, sim, { from, to, by: given.by }, expected)]++;
      },
    ),
    { numRuns: 60 },
  );
  expect(ends.right).toBeGreaterThan(10);
  expect(ends.failed).toBeGreaterThan(0);
});

test("usage of a PRO SIM is right or not there, whatever goes wrong", async () => {
  const clock = new IdleClock();
  await using emnify = await EmnifySimulator.start(clock);
  const { iccid, imsi, usage: megabytes } = emnify.addSim({ iccid: "8988303000001234567", imsi: "295050912345678" });
  const state = { status: "active", networkGroup: undefined } as const;
  const sim: OperatorSim = { type: "prosim", iccid, operatorId: imsi, state };
  const ends = { right: 0, failed: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.record({ usage, faults: faultsUntil(3), from: hour, to: hour, by: granularity }),
      async (given) => {
        megabytes.clear();
        const used = new Map(given.usage.map(([at, bytes]) => [START + Math.floor(at / 24) * DAY, bytes]));
        for (const [time, bytes] of used)
          megabytes.set(new Date(time * 1000).toISOString().slice(0, 10), bytes / 1_000_000);
        setFaults(emnify, /stats/, given.faults);
        const [from, to] = [given.from, given.to]
          .map((at) => START + at * HOUR)
          .toSorted((one, other) => one - other) as [number, number];
        const expected = totalsOf(used, from, to, given.by).map(([periodStart, bytes]) => ({
          bucket: "iot-eu-standard",
          periodStart,
          bytes,
        }));
        const { url, applicationToken } = emnify;
        const operator = new EmnifyOperator({ url, applicationToken, clock });
        ends[await expectRight(operator, sim, { from, to, by: given.by }, expected)]++;
      },
    ),
    { numRuns: 60 },
  );
  expect(ends.right).toBeGreaterThan(10);
  expect(ends.failed).toBeGreaterThan(0);
});
