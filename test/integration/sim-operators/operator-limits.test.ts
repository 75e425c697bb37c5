import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { luhnDigit } from "../../../src/control-plane/core/sims/iccid.ts";
import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import type { OperatorSim } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { IdleClock } from "../../support/idle-clock.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";

const { signal } = new AbortController();

let clock: IdleClock;
let emnify: EmnifySimulator;
let operator: EmnifyOperator;
let sims: readonly OperatorSim[];
beforeEach(async () => {
  clock = new IdleClock();
  emnify = await EmnifySimulator.start(clock);
  onTestFinished(() => emnify[Symbol.asyncDispose]());
  operator = new EmnifyOperator({ url: emnify.url, applicationToken: emnify.applicationToken, clock });
  sims = Array.from({ length: 100 }, (_, index) => {
    const added = emnify.addSim({ iccid: `89883030000012${1000 + index}0`, imsi: `2950509123${1000 + index}` });
    const state = { status: "active", networkGroup: undefined } as const;
    return { type: "prosim", iccid: added.iccid, operatorId: added.imsi, state } as const;
  });
});

async function suspendAll(): Promise<void> {
  await Promise.all(sims.map((sim) => operator.change(sim, { status: "inactive" }, signal)));
  expect([...emnify.sims.values()].filter(({ statusId }) => statusId === 2)).toHaveLength(100);
  expect(emnify.count(/PATCH/)).toBe(100);
  expect(emnify.throttled).toBe(0);
  expect(emnify.maxParallel).toBeLessThanOrEqual(4);
  expect(emnify.count(/authenticate/)).toBe(1);
}

describe("a hundred SIMs at once at emnify", () => {
  test("that were never read: within the operator's limits, each changed once", suspendAll);

  test("that were read before: without searching for them again, which would take 20 s", async () => {
    await Promise.all(sims.map((sim) => operator.findSim(sim, signal)));
    const searches = emnify.count(/GET .*q=iccid/);
    const beganMs = clock.monotonic();
    await suspendAll();
    expect(emnify.count(/GET .*q=iccid/)).toBe(searches);
    expect(clock.monotonic() - beganMs).toBeLessThan(15_000);
  });

  test("whose usage is read: within the operator's limits", async () => {
    const range = { start: Date.UTC(2026, 10, 1) / 1000, end: Date.UTC(2026, 10, 30) / 1000 };
    await Promise.all(sims.map((sim) => operator.readUsage(sim, range, "day", signal)));
    expect(emnify.count(/stats/)).toBe(100);
    expect(emnify.throttled).toBe(0);
  });
});

describe("a SIM that was read before", () => {
  test("and went to another account is not found", async () => {
    expect(await operator.findSim(sims[0]!, signal)).toMatchObject({ status: "active" });
    emnify.sims.clear();
    expect(await operator.findSim(sims[0]!, signal)).toBeUndefined();
    const changing = operator.change(sims[0]!, { status: "inactive" }, signal);
    await expect(changing).rejects.toMatchObject({ failure: "not_found" });
  });

  test("and has another number at the operator now is searched for", async () => {
    const [id, { iccid, imsi }] = [...emnify.sims][0]!;
    expect(await operator.findSim(sims[0]!, signal)).toMatchObject({ status: "active" });
    emnify.sims.delete(id);
    emnify.addSim({ id: 900, iccid, imsi, statusId: 2 });
    expect(await operator.findSim(sims[0]!, signal)).toMatchObject({ status: "inactive" });
    expect(emnify.count(/GET .*q=iccid/)).toBe(2);
    expect(await operator.findSim(sims[0]!, signal)).toMatchObject({ status: "inactive" });
    expect(emnify.count(/GET .*q=iccid/)).toBe(2);
  });

  test("and is of others by what the operator says is searched for", async () => {
    await operator.findSim(sims[0]!, signal);
    emnify.fail(/GET \/api\/v1\/sim\/\d/, { kind: "status", status: 403 }, 1);
    expect(await operator.findSim(sims[0]!, signal)).toMatchObject({ status: "active" });
  });
});

describe("tokens", () => {
  test("that are not accepted although they were just given are not asked for again and again", async () => {
    emnify.givesDeadTokens = true;
    for (let attempt = 0; attempt < 50; attempt++)
      await expect(operator.findSim(sims[0]!, signal)).rejects.toMatchObject({ failure: "credentials" });
    expect(emnify.count(/authenticate/)).toBeLessThanOrEqual(6);
    emnify.givesDeadTokens = false;
    await clock.sleep(150_000);
    expect(await operator.findSim(sims[0]!, signal)).toMatchObject({ status: "active" });
  });

  test("that have ended by the clock of this machine, which is wrong, are used all the same", async () => {
    const ahead: Clock = {
      now: () => clock.now() + 5 * 3_600_000,
      timeOfDay: () => clock.now() + 5 * 3_600_000,
      deletionTime: () => clock.now() + 5 * 3_600_000,
      monotonic: () => clock.monotonic(),
      timer: (ms, callback) => clock.timer(ms, callback),
      sleep: (ms, stop) => clock.sleep(ms, stop),
    };
    const { url, applicationToken } = emnify;
    const confused = new EmnifyOperator({ url, applicationToken, clock: ahead });
    for (let attempt = 0; attempt < 20; attempt++) await confused.findSim(sims[0]!, signal);
    expect(emnify.count(/authenticate/)).toBe(1);
  });
});

const find = (wanted: readonly OperatorSim[]) => Promise.all(wanted.map((sim) => operator.findSim(sim, signal)));

describe("many SIMs that were never read", () => {
  test("are found in a list, with numbers in either form, and what is not in it is searched for", async () => {
    const withLuhn = sims.map((sim, index) =>
      index % 2 === 0 ? sim : { ...sim, iccid: `${sim.iccid}${luhnDigit(sim.iccid)}` },
    );
    const unknown = { ...sims[0]!, iccid: "8988303000009999999" };
    const found = await find([...withLuhn, unknown]);
    expect(found.filter((each) => each?.status === "active")).toHaveLength(100);
    expect(found.at(-1)).toBeUndefined();
    expect(emnify.count(/GET .*per_page/)).toBe(1);
    expect(emnify.count(/GET .*q=iccid/)).toBeLessThanOrEqual(6);
    expect(emnify.throttled).toBe(0);
  });

  test("are all searched for where the operator gives no list", async () => {
    emnify.fail(/GET .*per_page/, { kind: "status", status: 400 });
    expect((await find(sims)).filter((each) => each?.status === "active")).toHaveLength(100);
    expect(emnify.count(/GET .*per_page/)).toBe(1);
    expect(emnify.count(/GET .*q=iccid/)).toBe(100);
    expect(emnify.throttled).toBe(0);
  });

  test("a list of several pages is read to its end", async () => {
    for (let index = 0; index < 1_050; index++)
      emnify.addSim({ iccid: `89883030000077${10_000 + index}`, imsi: `29505099${1_000_000 + index}` });
    const state = { status: "active", networkGroup: undefined } as const;
    const last = [...emnify.sims.values()]
      .slice(-20)
      .map(({ iccid, imsi }): OperatorSim => ({ type: "prosim", iccid, operatorId: imsi, state }));
    expect((await find(last)).filter((each) => each?.status === "active")).toHaveLength(20);
    expect(emnify.count(/GET .*per_page/)).toBe(2);
  });
});
