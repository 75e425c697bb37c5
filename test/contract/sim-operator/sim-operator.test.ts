import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SimType } from "../../../src/protocol/sim.ts";
import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import type { OperatorSim, SimOperator } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { openTestUsage } from "../../support/sim-operators/test-usage.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;
const NOVEMBER = Date.UTC(2026, 10, 1) / 1000;
const DECEMBER = Date.UTC(2026, 11, 1) / 1000;

/** One operator with a SIM that is active, and the means to use it. */
interface Rig extends AsyncDisposable {
  readonly operator: SimOperator;
  readonly sim: OperatorSim;
  readonly bucket: string;
  readonly countsHours: boolean;
  /** Uses bytes in the hour, or in the day, that contains the time. */
  readonly use: (time: number, bytes: number) => Promise<void>;
}

const superSim = (type: SimType, sid: string, iccid: string): OperatorSim => ({
  type,
  iccid,
  operatorId: sid,
  state: { status: "active", networkGroup: type === "supersim" ? "default_1gb" : undefined },
});

const SID = `HS${"0a".repeat(16)}`;

const RIGS: Readonly<Record<string, () => Promise<Rig>>> = {
  stored: async () => {
    const usage = await openTestUsage("8988307000001234567");
    return {
      operator: new StoredSimOperator(usage.store),
      sim: superSim("supersim", SID, "8988307000001234567"),
      bucket: "default_1gb",
      countsHours: true,
      use: (time, bytes) => usage.add("default_1gb", time, bytes),
      [Symbol.asyncDispose]: () => usage[Symbol.asyncDispose](),
    };
  },
  "Super SIM": async () => {
    const simulator = await SuperSimSimulator.start();
    simulator.addFleet("default_1gb", 1_000);
    simulator.addFleet("default_10gb");
    simulator.addSim({ sid: SID, iccid: "8988307000001234567" });
    const { url, clientId, clientSecret, tokenUrl } = simulator;
    return {
      operator: new SuperSimOperator({ url, credentials: { clientId, clientSecret, tokenUrl }, clock: systemClock }),
      sim: superSim("supersim", SID, "8988307000001234567"),
      bucket: "default_1gb",
      countsHours: true,
      use: async (time, bytes) => simulator.use(SID, time, bytes),
      [Symbol.asyncDispose]: () => simulator[Symbol.asyncDispose](),
    };
  },
  "Super SIM of an older account": async () => {
    const simulator = await SuperSimSimulator.start();
    simulator.addFleet("default_1gb");
    simulator.addFleet("default_10gb");
    simulator.addSim({ sid: SID, iccid: "8988307000001234567" });
    const { url, accountSid, authToken } = simulator;
    return {
      operator: new SuperSimOperator({ url, credentials: { accountSid, authToken }, clock: systemClock }),
      sim: superSim("supersim", SID, "8988307000001234567"),
      bucket: "default_1gb",
      countsHours: true,
      use: async (time, bytes) => simulator.use(SID, time, bytes),
      [Symbol.asyncDispose]: () => simulator[Symbol.asyncDispose](),
    };
  },
  emnify: async () => {
    const simulator = await EmnifySimulator.start();
    const added = simulator.addSim({ iccid: "8988303000001234567", imsi: "295050912345678" });
    const { url, applicationToken } = simulator;
    return {
      operator: new EmnifyOperator({ url, applicationToken, clock: systemClock }),
      sim: superSim("prosim", "295050912345678", "8988303000001234567"),
      bucket: "iot-eu-standard",
      countsHours: false,
      use: async (time, bytes) => {
        const date = new Date(time * 1000).toISOString().slice(0, 10);
        added.usage.set(date, (added.usage.get(date) ?? 0) + bytes / 1_000_000);
      },
      [Symbol.asyncDispose]: () => simulator[Symbol.asyncDispose](),
    };
  },
};

describe.each(Object.entries(RIGS))("%s", (_name, start) => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await start();
  });
  afterEach(() => rig[Symbol.asyncDispose]());
  const { signal } = new AbortController();

  test("finds the SIM with its state", async () => {
    expect(await rig.operator.findSim(rig.sim, signal)).toMatchObject({
      type: rig.sim.type,
      iccid: rig.sim.iccid,
      operatorId: rig.sim.operatorId,
      status: "active",
      isScheduled: false,
      networkGroup: rig.sim.state.networkGroup,
    });
  });

  test("a change is confirmed, can be repeated, and taken back", async () => {
    const { operator, sim } = rig;
    for (const status of ["inactive", "inactive", "active", "active"] as const) {
      const changed = await operator.change(sim, { status }, signal);
      expect(changed).toMatchObject({ status, isScheduled: false });
    }
    expect(await operator.findSim(sim, signal)).toMatchObject({ status: "active" });
  });

  test("the network group of a Super SIM changes, alone and with its status", async () => {
    const { operator, sim } = rig;
    if (sim.type === "prosim") return;
    expect(await operator.change(sim, { networkGroup: "default_10gb" }, signal)).toMatchObject({
      networkGroup: "default_10gb",
      status: "active",
    });
    expect(await operator.change(sim, { networkGroup: "default_1gb", status: "inactive" }, signal)).toMatchObject({
      networkGroup: "default_1gb",
      status: "inactive",
    });
  });

  test("sums usage by each granularity, without empty periods", async () => {
    const { operator, sim, bucket, countsHours, use } = rig;
    await use(NOVEMBER + 5 * HOUR, 1_000_001);
    await use(NOVEMBER + 7 * HOUR, 10);
    await use(NOVEMBER + 3 * DAY, 100);
    await use(DECEMBER, 1_000);
    const range = { start: NOVEMBER, end: DECEMBER + DAY };
    const read = (granularity: "all" | "hour" | "day" | "month") => operator.readUsage(sim, range, granularity, signal);
    expect(await read("all")).toEqual([{ bucket, periodStart: undefined, bytes: 1_001_111 }]);
    expect(await read("month")).toEqual([
      { bucket, periodStart: NOVEMBER, bytes: 1_000_111 },
      { bucket, periodStart: DECEMBER, bytes: 1_000 },
    ]);
    expect(await read("day")).toEqual([
      { bucket, periodStart: NOVEMBER, bytes: 1_000_011 },
      { bucket, periodStart: NOVEMBER + 3 * DAY, bytes: 100 },
      { bucket, periodStart: DECEMBER, bytes: 1_000 },
    ]);
    if (!countsHours) {
      await expect(read("hour")).rejects.toMatchObject({ code: "GranularityNotAvailable" });
      return;
    }
    expect((await read("hour")).map(({ periodStart, bytes }) => [periodStart, bytes])).toEqual([
      [NOVEMBER + 5 * HOUR, 1_000_001],
      [NOVEMBER + 7 * HOUR, 10],
      [NOVEMBER + 3 * DAY, 100],
      [DECEMBER, 1_000],
    ]);
  });

  test("a range takes what begins within it", async () => {
    const { operator, sim, bucket, countsHours, use } = rig;
    for (const [index, time] of [NOVEMBER, NOVEMBER + DAY - HOUR, NOVEMBER + DAY, NOVEMBER + 2 * DAY].entries())
      await use(time, 10 ** index);
    const range = { start: NOVEMBER + HOUR, end: NOVEMBER + 2 * DAY };
    const bytes = countsHours ? 110 : 100;
    expect(await operator.readUsage(sim, range, "all", signal)).toEqual([{ bucket, periodStart: undefined, bytes }]);
    expect(await operator.readUsage(sim, { start: NOVEMBER + 1, end: NOVEMBER + 2 }, "all", signal)).toEqual([]);
  });

  test("nothing used is nothing", async () => {
    expect(await rig.operator.readUsage(rig.sim, { start: NOVEMBER, end: DECEMBER }, "day", signal)).toEqual([]);
  });
});
