import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import type { OperatorSim } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import { IdleClock } from "../../support/idle-clock.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import type { Fault } from "../../support/sim-operators/operator-server.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;
const NOVEMBER = Date.UTC(2026, 10, 1) / 1000;
const { signal } = new AbortController();

const sidOf = (number: number): string => `HS${number.toString(16).padStart(32, "0")}`;
const SID = sidOf(10);
const SIM: OperatorSim = {
  type: "supersim",
  iccid: "8988307000001234567",
  operatorId: SID,
  state: { status: "active", networkGroup: "default_1gb" },
};
const PRO_SIM: OperatorSim = {
  type: "prosim",
  iccid: "8988303000001234567",
  operatorId: "295050912345678",
  state: { status: "active", networkGroup: undefined },
};

let clock: IdleClock;
let simulator: SuperSimSimulator;
let operator: SuperSimOperator;
beforeEach(async () => {
  clock = new IdleClock();
  simulator = await SuperSimSimulator.start(clock);
  onTestFinished(() => simulator[Symbol.asyncDispose]());
  simulator.addFleet("default_1gb", 1_000);
  simulator.addSim({ sid: SID, iccid: SIM.iccid });
  const { url, clientId, clientSecret, tokenUrl } = simulator;
  operator = new SuperSimOperator({ url, credentials: { clientId, clientSecret, tokenUrl }, clock });
});

const range = { start: NOVEMBER, end: NOVEMBER + 30 * DAY };

describe("an operator that fails", () => {
  test.each<[string, Fault, string]>([
    ["500", { kind: "status", status: 500 }, "unavailable"],
    ["HTML", { kind: "html", status: 502 }, "unavailable"],
    ["HTML as success", { kind: "html", status: 200 }, "malformed"],
    ["half of JSON", { kind: "text", text: '{"sid": "HS' }, "malformed"],
    ["another object", { kind: "text", text: '{"answer": 42}' }, "malformed"],
    ["no answer", { kind: "hang" }, "unavailable"],
    ["a cut connection", { kind: "answer_lost" }, "unavailable"],
    ["403", { kind: "status", status: 403 }, "credentials"],
  ])("with %s, always: an error that says it, after few requests", async (_name, fault, failure) => {
    simulator.fail(/\/v1\/Sims/, fault);
    await expect(operator.findSim(SIM, signal)).rejects.toMatchObject({ name: "SimOperatorError", failure });
    expect(simulator.count(/\/v1\/Sims/)).toBeLessThanOrEqual(3);
    simulator.heal();
    // One that did not answer is left alone for some seconds.
    await clock.sleep(5_000);
    expect(await operator.findSim(SIM, signal)).toMatchObject({ status: "active" });
  });

  test("once: nobody notices", async () => {
    for (const fault of [{ kind: "status", status: 500 }, { kind: "answer_lost" }, { kind: "hang" }] as const) {
      simulator.fail(/GET \/v1\/Sims/, fault, 1);
      expect(await operator.findSim(SIM, signal)).toMatchObject({ status: "active" });
      simulator.fail(/POST \/v1\/Sims/, fault, 1);
      expect(await operator.change(SIM, { status: "inactive" }, signal)).toMatchObject({ status: "inactive" });
      await operator.change(SIM, { status: "active" }, signal);
    }
  });

  test("with 429 for an hour: it is asked once, and told so to all who come meanwhile", async () => {
    simulator.fail(/./, { kind: "status", status: 429, headers: { "Retry-After": "3600" } });
    for (let minute = 0; minute < 59; minute++) {
      await expect(operator.findSim(SIM, signal)).rejects.toMatchObject({ failure: "throttled" });
      await clock.sleep(60_000);
    }
    // For a token.
    expect(simulator.count()).toBe(1);
  });

  test("with 429 without a time: the pauses grow", async () => {
    await operator.findSim(SIM, signal);
    const before = simulator.count();
    simulator.fail(/\/v1\/Sims/, { kind: "status", status: 429 });
    for (let minute = 0; minute < 200; minute++) {
      await expect(operator.findSim(SIM, signal)).rejects.toMatchObject({ failure: "throttled" });
      await clock.sleep(60_000);
    }
    // Ten until they are a quarter of an hour, then four in an hour.
    expect(simulator.count() - before).toBeLessThanOrEqual(10 + 4 * 4);
  });

  test("that takes time, a hundred at once: four at a time, each SIM once", async () => {
    simulator.delayMs = 5;
    const { url, accountSid, authToken } = simulator;
    const unhurried = new SuperSimOperator({ url, credentials: { accountSid, authToken }, clock });
    const sims = Array.from({ length: 100 }, (_, index) => ({ ...SIM, operatorId: sidOf(index + 100) }));
    for (const { operatorId: sid } of sims) simulator.addSim({ sid, iccid: `89883070000${sid.slice(-8)}` });
    await Promise.all(sims.map((sim) => unhurried.change(sim, { status: "inactive" }, signal)));
    expect(simulator.maxParallel).toBeLessThanOrEqual(4);
    expect(simulator.count(/POST \/v1\/Sims/)).toBe(100);
    expect([...simulator.sims.values()].filter(({ status }) => status === "inactive")).toHaveLength(100);
  });

  test("asked the same by many: one request", async () => {
    simulator.delayMs = 20;
    const found = await Promise.all(Array.from({ length: 30 }, () => operator.findSim(SIM, signal)));
    expect(new Set(found.map((sim) => sim?.status))).toEqual(new Set(["active"]));
    expect(simulator.count(/GET \/v1\/Sims/)).toBe(1);
    expect(simulator.count(/GET \/v1\/Fleets/)).toBe(1);
  });

  test("the one who asked first gives up: the others get their answer", async () => {
    simulator.delayMs = 50;
    const first = new AbortController();
    const given = operator.findSim(SIM, first.signal);
    const others = [operator.findSim(SIM, signal), operator.findSim(SIM, signal)];
    first.abort();
    await expect(given).rejects.toThrow();
    for (const other of others) expect(await other).toMatchObject({ status: "active" });
  });
});

describe("credentials", () => {
  test("that are wrong are said, and not tried again and again", async () => {
    const { url, tokenUrl } = simulator;
    const credentials = { clientId: "client", clientSecret: "wrong-secret-text", tokenUrl };
    const wrong = new SuperSimOperator({ url, credentials, clock });
    for (let attempt = 0; attempt < 20; attempt++) {
      const failed = wrong.findSim(SIM, signal);
      await expect(failed).rejects.toMatchObject({ failure: "credentials" });
      await failed.catch((error: Error) =>
        expect(`${error.stack} ${error.message}`).not.toContain("wrong-secret-text"),
      );
    }
    expect(simulator.count(/token/)).toBe(1);
    const lines = await wrong.check(signal);
    expect(lines.map(({ isAllowed }) => isAllowed)).toEqual([false, false, false, undefined]);
    expect(lines[0]?.answer).toContain("credentials are wrong or revoked");
  });

  test("that are revoked later: the next call says so", async () => {
    await operator.findSim(SIM, signal);
    simulator.isRevoked = true;
    await expect(operator.findSim(SIM, signal)).rejects.toMatchObject({ failure: "credentials" });
  });

  test("with all they need: the check says so", async () => {
    expect((await operator.check(signal)).map(({ isAllowed }) => isAllowed)).toEqual([true, true, true, undefined]);
  });

  test("a token is kept until shortly before its end, and renewed once for all who wait", async () => {
    await Promise.all(Array.from({ length: 20 }, () => operator.findSim(SIM, signal)));
    expect(simulator.count(/token/)).toBe(1);
    simulator.forgetTokens();
    await Promise.all(Array.from({ length: 20 }, () => operator.findSim(SIM, signal)));
    expect(simulator.count(/token/)).toBe(2);
  });
});

function use(days: number): void {
  for (let day = 0; day < days; day++)
    for (const hour of [1, 13]) simulator.use(SID, NOVEMBER + day * DAY + hour * HOUR, 1_000 + day);
}

describe("usage", () => {
  const total = Array.from({ length: 30 }, (_, day) => 2 * (1_000 + day)).reduce((sum, bytes) => sum + bytes, 0);

  test("over many pages that overlap: each hour counts once", async () => {
    use(30);
    simulator.pageSize = 7;
    simulator.overlaps = true;
    const found = await operator.readUsage(SIM, range, "hour", signal);
    expect(found).toHaveLength(60);
    expect(found.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(total);
    expect(simulator.count(/UsageRecords/)).toBe(9);
  });

  test("with a token that ends in the middle of the pages: the page is asked for again, and no other", async () => {
    use(30);
    simulator.pageSize = 7;
    await operator.findSim(SIM, signal);
    simulator.fail(/UsageRecords.*Page=4/, { kind: "status", status: 401 }, 1);
    const found = await operator.readUsage(SIM, range, "hour", signal);
    expect(found.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(total);
    expect(simulator.count(/UsageRecords/)).toBe(10);
    expect(simulator.count(/token/)).toBe(2);
  });

  test("pages that lead to another server are not followed", async () => {
    const text = JSON.stringify({ usage_records: [], meta: { next_page_url: "http://127.0.0.2:1/v1/UsageRecords" } });
    simulator.fail(/UsageRecords/, { kind: "text", text });
    await expect(operator.readUsage(SIM, range, "day", signal)).rejects.toMatchObject({ failure: "malformed" });
  });

  test("pages that lead back to themselves end", async () => {
    const meta = { next_page_url: `${simulator.url}/v1/UsageRecords?Page=1` };
    simulator.fail(/UsageRecords/, { kind: "text", text: JSON.stringify({ usage_records: [], meta }) });
    await expect(operator.readUsage(SIM, range, "day", signal)).rejects.toMatchObject({ failure: "malformed" });
    expect(simulator.count(/UsageRecords/)).toBe(2);
  });

  test("of a SIM that was in two fleets is told apart", async () => {
    simulator.addFleet("default_10gb");
    simulator.use(SID, NOVEMBER, 5, "default_10gb");
    simulator.use(SID, NOVEMBER + HOUR, 7, "default_1gb");
    expect(await operator.readUsage(SIM, range, "day", signal)).toEqual([
      { bucket: "default_10gb", periodStart: NOVEMBER, bytes: 5 },
      { bucket: "default_1gb", periodStart: NOVEMBER, bytes: 7 },
    ]);
  });

  test.each([-1, 1.5, 1e300, "12"])("of %s bytes is not taken", async (bytes) => {
    const period = { start_time: "2026-11-01T00:00:00Z", end_time: "2026-11-02T00:00:00Z" };
    const text = JSON.stringify({ usage_records: [{ fleet_sid: null, period, data_total: bytes }], meta: {} });
    simulator.fail(/UsageRecords/, { kind: "text", text });
    await expect(operator.readUsage(SIM, range, "day", signal)).rejects.toMatchObject({ failure: "malformed" });
  });
});

describe("states of a Super SIM", () => {
  test("a change that is queued settles later", async () => {
    simulator.schedules = true;
    const changed = await operator.change(SIM, { status: "inactive" }, signal);
    expect(changed).toMatchObject({ isScheduled: true, status: undefined, operatorStatus: "scheduled" });
    expect(await operator.findSim(SIM, signal)).toMatchObject({ isScheduled: true, status: undefined });
    simulator.settle();
    expect(await operator.findSim(SIM, signal)).toMatchObject({ isScheduled: false, status: "inactive" });
  });

  test("a change that is done while another one is still queued is not all there is", async () => {
    const fleetSid = `HF${"1".repeat(32)}`;
    const text = JSON.stringify({ sid: SID, iccid: SIM.iccid, status: "scheduled", fleet_sid: fleetSid });
    simulator.fail(/POST \/v1\/Sims/, { kind: "text", text });
    const changed = await operator.change(SIM, { networkGroup: "default_1gb" }, signal);
    expect(changed).toMatchObject({ isScheduled: true, status: undefined });
  });

  test("one that is ready stays so when it is activated: it is not billed yet", async () => {
    simulator.sims.get(SID)!.status = "ready";
    expect(await operator.change(SIM, { status: "active" }, signal)).toMatchObject({ status: "active" });
    expect(simulator.sims.get(SID)?.status).toBe("ready");
  });

  test("a status that nobody knows yet is shown in the operator's words", async () => {
    const text = JSON.stringify({ sid: SID, iccid: SIM.iccid, status: "hibernating", fleet_sid: null });
    simulator.fail(/\/v1\/Sims/, { kind: "text", text });
    const found = await operator.findSim(SIM, signal);
    expect(found).toMatchObject({ status: undefined, operatorStatus: "hibernating", isScheduled: false });
  });

  test("a SIM of another account is not found, nor is a text that is no SID", async () => {
    expect(await operator.findSim({ ...SIM, operatorId: sidOf(99) }, signal)).toBeUndefined();
    const before = simulator.count();
    expect(await operator.findSim({ ...SIM, operatorId: "../Fleets" }, signal)).toBeUndefined();
    expect(simulator.count()).toBe(before);
  });

  test("a fleet that the operator does not know is refused with its words", async () => {
    const changing = operator.change(SIM, { networkGroup: "nowhere" }, signal);
    await expect(changing).rejects.toMatchObject({ failure: "refused", message: "it answered 400: Invalid Fleet" });
  });

  test("the monthly limit of the fleet is the allowance", async () => {
    expect((await operator.findSim(SIM, signal))?.allowanceBytes).toBe(1_000_000_000);
  });
});

async function startEmnify() {
  const emnify = await EmnifySimulator.start(clock);
  onTestFinished(() => emnify[Symbol.asyncDispose]());
  const { url, applicationToken } = emnify;
  return { emnify, client: new EmnifyOperator({ url, applicationToken, clock }) };
}

describe("emnify", () => {
  test.each(["8988303000001234567", "89883030000012345671"])("%s: the SIM is found", async (iccid) => {
    const { emnify, client } = await startEmnify();
    emnify.addSim({ iccid: "8988303000001234567", imsi: PRO_SIM.operatorId, serviceProfile: "gold" });
    const found = await client.findSim({ ...PRO_SIM, iccid }, signal);
    expect(found).toMatchObject({ iccid: "8988303000001234567", serviceProfile: "gold", status: "active" });
  });

  test("a SIM whose number begins alike is another one", async () => {
    const { emnify, client } = await startEmnify();
    emnify.addSim({ iccid: "8988303000001234567", imsi: PRO_SIM.operatorId });
    for (const iccid of ["898830300000123456", "89883030000012345674"])
      expect(await client.findSim({ ...PRO_SIM, iccid }, signal)).toBeUndefined();
  });

  test.each([
    [0, "inactive"],
    [1, "active"],
    [2, "inactive"],
    [4, undefined],
    [9, undefined],
  ])("status %i is %s", async (statusId, status) => {
    const { emnify, client } = await startEmnify();
    emnify.addSim({ iccid: PRO_SIM.iccid, imsi: PRO_SIM.operatorId, statusId });
    expect((await client.findSim(PRO_SIM, signal))?.status).toBe(status);
  });

  test("a deleted SIM is not found", async () => {
    const { emnify, client } = await startEmnify();
    emnify.addSim({ iccid: PRO_SIM.iccid, imsi: PRO_SIM.operatorId, statusId: 3 });
    expect(await client.findSim(PRO_SIM, signal)).toBeUndefined();
    await expect(client.change(PRO_SIM, { status: "active" }, signal)).rejects.toMatchObject({ failure: "not_found" });
  });

  test("fractions of megabytes are bytes, exact to the byte", async () => {
    const { emnify, client } = await startEmnify();
    const sim = emnify.addSim({ iccid: PRO_SIM.iccid, imsi: PRO_SIM.operatorId });
    const volumes = [0.1, 0.2, 0.3, 1.1, 12.345678, 0.000001, 4_096.000004];
    for (const [index, volume] of volumes.entries()) sim.usage.set(`2026-11-${10 + index}`, volume);
    const [all] = await client.readUsage(PRO_SIM, range, "all", signal);
    expect(all?.bytes).toBe(100_000 + 200_000 + 300_000 + 1_100_000 + 12_345_678 + 1 + 4_096_000_004);
  });

  test("a SIM that was never used has no usage, and no requests for it", async () => {
    const { emnify, client } = await startEmnify();
    emnify.addSim({ iccid: PRO_SIM.iccid, imsi: PRO_SIM.operatorId, hasEndpoint: false });
    expect(await client.readUsage(PRO_SIM, range, "all", signal)).toEqual([]);
    expect(emnify.count(/stats/)).toBe(0);
  });

  test("its token is renewed before its end, and when the operator has forgotten it", async () => {
    const { emnify, client } = await startEmnify();
    emnify.addSim({ iccid: PRO_SIM.iccid, imsi: PRO_SIM.operatorId });
    await client.findSim(PRO_SIM, signal);
    await client.findSim(PRO_SIM, signal);
    expect(emnify.count(/authenticate/)).toBe(1);
    emnify.forgetTokens();
    await client.findSim(PRO_SIM, signal);
    expect(emnify.count(/authenticate/)).toBe(2);
  });

  test("what is so already is not asked for", async () => {
    const { emnify, client } = await startEmnify();
    emnify.addSim({ iccid: PRO_SIM.iccid, imsi: PRO_SIM.operatorId });
    await client.change(PRO_SIM, { status: "active" }, signal);
    expect(emnify.count(/PATCH/)).toBe(0);
    await client.change(PRO_SIM, { status: "inactive" }, signal);
    expect(emnify.count(/PATCH/)).toBe(1);
  });
});
