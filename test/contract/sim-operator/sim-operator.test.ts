import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SimType } from "../../../src/protocol/assets/sim.ts";
import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import type {
  OperatorSim,
  SimOperator,
  SimOperatorError,
} from "../../../src/control-plane/sim-operator/sim-operator.ts";
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
  /** Whether the operator knows SIMs by itself. */
  readonly knowsSims: boolean;
  /** Sets what was used in the hour, or in the day, that begins at the time. */
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
      knowsSims: false,
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
      knowsSims: true,
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
      knowsSims: true,
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
      knowsSims: true,
      use: async (time, bytes) => {
        added.usage.set(new Date(time * 1000).toISOString().slice(0, 10), bytes / 1_000_000);
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
    const used: readonly (readonly [number, number])[] = countsHours
      ? [
          [NOVEMBER + 5 * HOUR, 1_000_001],
          [NOVEMBER + 7 * HOUR, 10],
          [NOVEMBER + 3 * DAY, 100],
          [DECEMBER, 1_000],
        ]
      : [
          [NOVEMBER, 1_000_011],
          [NOVEMBER + 3 * DAY, 100],
          [DECEMBER, 1_000],
        ];
    for (const [time, bytes] of used) await use(time, bytes);
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
    if (countsHours) expect((await read("hour")).map(({ periodStart, bytes }) => [periodStart, bytes])).toEqual(used);
    else
      await expect(read("hour")).rejects.toMatchObject({
        code: "GranularityNotAvailable",
        details: { available: ["all", "day", "month"] },
      });
  });

  test("usage that was corrected is as corrected, also downwards and to nothing", async () => {
    const { operator, sim, bucket, use } = rig;
    const read = () => operator.readUsage(sim, { start: NOVEMBER, end: DECEMBER }, "all", signal);
    await use(NOVEMBER, 5_000);
    await use(NOVEMBER + DAY, 70);
    expect(await read()).toEqual([{ bucket, periodStart: undefined, bytes: 5_070 }]);
    await use(NOVEMBER, 4_999);
    expect(await read()).toEqual([{ bucket, periodStart: undefined, bytes: 5_069 }]);
    await use(NOVEMBER, 0);
    await use(NOVEMBER + DAY, 0);
    // An import of 0 bytes is a total of its own.
    expect((await read()).filter(({ bytes }) => bytes > 0)).toEqual([]);
  });

  test("a SIM that the operator does not know is not found, not changed, and has no usage", async () => {
    const { operator, sim, knowsSims } = rig;
    if (!knowsSims) return;
    const unknown = { ...sim, iccid: "8988307000007654321", operatorId: `HS${"ff".repeat(16)}` };
    expect(await operator.findSim(unknown, signal)).toBeUndefined();
    const changing = operator.change(unknown, { status: "inactive" }, signal);
    await expect(changing).rejects.toMatchObject({ name: "SimOperatorError", failure: "not_found", retryable: false });
    const usage = operator.readUsage(unknown, { start: NOVEMBER, end: DECEMBER }, "all", signal);
    expect(await usage.catch(({ failure }: SimOperatorError) => failure)).toSatisfy(
      (answer) => answer === "not_found" || (Array.isArray(answer) && answer.length === 0),
    );
    expect(await operator.findSim(sim, signal)).toMatchObject({ status: "active" });
  });

  test("who gives up gets the reason", async () => {
    const { operator, sim, knowsSims } = rig;
    if (!knowsSims) return;
    const gone = AbortSignal.abort(new Error("gone"));
    const calls = [operator.findSim(sim, gone), operator.change(sim, { status: "inactive" }, gone)];
    for (const call of calls) await expect(call).rejects.toThrow("gone");
    expect(await operator.findSim(sim, signal)).toMatchObject({ status: "active" });
  });

  test("says what the credentials allow", async () => {
    const lines = await rig.operator.check(signal);
    expect(lines.length > 0).toBe(rig.knowsSims);
    for (const { what, allows, isAllowed, answer } of lines)
      expect([what, allows, answer, isAllowed !== false].every(Boolean), what).toBe(true);
  });

  test("a range takes what begins within it", async () => {
    const { operator, sim, bucket, countsHours, use } = rig;
    const times = [NOVEMBER, ...(countsHours ? [NOVEMBER + DAY - HOUR] : []), NOVEMBER + DAY, NOVEMBER + 2 * DAY];
    for (const [index, time] of times.entries()) await use(time, 10 ** index);
    const range = { start: NOVEMBER + HOUR, end: NOVEMBER + 2 * DAY };
    const bytes = countsHours ? 110 : 10;
    expect(await operator.readUsage(sim, range, "all", signal)).toEqual([{ bucket, periodStart: undefined, bytes }]);
    expect(await operator.readUsage(sim, { start: NOVEMBER + 1, end: NOVEMBER + 2 }, "all", signal)).toEqual([]);
  });

  test("nothing used is nothing", async () => {
    expect(await rig.operator.readUsage(rig.sim, { start: NOVEMBER, end: DECEMBER }, "day", signal)).toEqual([]);
  });
});
