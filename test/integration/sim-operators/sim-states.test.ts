import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openOperators, type SimOperators } from "../../../src/control-plane/sim-operator/sim-operators.ts";
import { OperatorPool } from "../../../src/control-plane/sim-operator/operator-pool.ts";
import { EmnifyOperator } from "../../../src/control-plane/sim-operator/emnify/emnify-operator.ts";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { waitFor } from "../../support/wait-for.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";

const SECOND = 1_000;
const HOUR = 3_600_000;
const SID = `HS${"0b".repeat(16)}`;
const ICCID = "8988307000001234567";
const PRO_ICCID = "8988303000001234567";
const IMSI = "295050912345678";

let clock: FakeClock;
let kore: SuperSimSimulator;
let emnify: EmnifySimulator;
let operators: SimOperators;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;

beforeEach(async () => {
  clock = new FakeClock();
  kore = await SuperSimSimulator.start(clock);
  onTestFinished(() => kore[Symbol.asyncDispose]());
  emnify = await EmnifySimulator.start(clock);
  onTestFinished(() => emnify[Symbol.asyncDispose]());
  const { accountSid, authToken } = kore;
  const superSim = new SuperSimOperator({ url: kore.url, credentials: { accountSid, authToken }, clock });
  const proSim = new EmnifyOperator({ url: emnify.url, applicationToken: emnify.applicationToken, clock });
  operators = {
    listServed: async () => ["supersim", "prosim"],
    find: async (_account, type) => (type === "supersim" ? superSim : proSim),
  };
  for (const fleet of ["default_1gb", "default_10gb"]) kore.addFleet(fleet);
  kore.addSim({ sid: SID, iccid: ICCID });
  emnify.addSim({ iccid: PRO_ICCID, imsi: IMSI });
  control = await startControlPlane({ clock, simOperators: operators, config: { sim_sync_interval_s: 3600 } });
  onTestFinished(() => control[Symbol.asyncDispose]());
  account = await control.account();
  asset = await control.asset(account, {
    supersim: { sid: SID, iccid: ICCID, networkGroup: "default_1gb", status: "active" },
    prosim: { imsi: IMSI, iccid: PRO_ICCID, serviceProfile: "iot-eu-standard", status: "active" },
  });
});

interface SimBody {
  readonly network_group?: string;
  readonly pending?: { readonly status?: string; readonly network_group?: string; readonly since: number };
}
interface Body {
  readonly uuid: string;
  readonly status: string;
  readonly supersim: SimBody;
  readonly prosim: SimBody;
  readonly code?: string;
  readonly details?: unknown;
}

async function request(method: string, path = "", body?: unknown) {
  const response = await fetch(`${control.url}/v1/assets/${asset.uuid}${path}`, {
    method,
    headers: { "X-API-Key": account.apiKey, ...(body !== undefined && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

const read = async () => (await request("GET")).body;

async function actions(): Promise<string[]> {
  const response = await fetch(`${control.url}/v1/audit`, { headers: { "X-API-Key": account.apiKey } });
  const { entries } = (await response.json()) as { entries: { action: string }[] };
  return entries.map(({ action }) => action).filter((action) => action.startsWith("sim."));
}

/** Lets time pass in steps, until something is so. */
async function passUntil(what: string, stepMs: number, isSo: () => Promise<boolean>): Promise<void> {
  await waitFor(what, async () => {
    if (await isSo()) return true;
    await clock.advance(stepMs);
    return false;
  });
}

describe("a change that the operator has queued", () => {
  beforeEach(() => {
    kore.schedules = true;
  });

  test("is answered with what is confirmed and what is pending, and settles by itself", async () => {
    const { status, body } = await request("PATCH", "", { supersim: { network_group: "default_10gb" } });
    expect(status).toBe(200);
    const since = Math.floor(clock.now() / 1000);
    expect(body.supersim).toMatchObject({
      network_group: "default_1gb",
      pending: { network_group: "default_10gb", since },
    });
    expect((await read()).supersim.pending).toEqual({ network_group: "default_10gb", since });
    // The follow-up finds it as it is.
    const before = kore.count(/GET \/v1\/Sims/);
    await passUntil("a follow-up", 5 * SECOND, async () => kore.count(/GET \/v1\/Sims/) > before);
    expect((await read()).supersim.pending).toBeDefined();
    kore.settle();
    await passUntil("the change to be settled", 5 * SECOND, async () => (await read()).supersim.pending === undefined);
    expect((await read()).supersim).toMatchObject({ network_group: "default_10gb" });
    expect(await actions()).toContain("sim.settled");
  });

  test("is asked for with growing pauses: hours of it are few requests", async () => {
    await request("PATCH", "", { supersim: { network_group: "default_10gb" } });
    const before = kore.count(/GET \/v1\/Sims/);
    for (let minute = 0; minute < 4 * 60; minute++) await clock.advance(60 * SECOND);
    const asked = kore.count(/GET \/v1\/Sims/) - before;
    // At least each quarter of an hour, and some more in the beginning.
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThanOrEqual(4 * 4 + 10);
  });

  test("is followed up by the next process", async () => {
    await request("PATCH", "", { status: "inactive" });
    kore.settle();
    await control.restart();
    expect((await read()).supersim.pending).toMatchObject({ status: "inactive" });
    await passUntil("the change to be settled", 5 * SECOND, async () => (await read()).supersim.pending === undefined);
    expect((await read()).status).toBe("inactive");
  });

  test("is superseded by one that contradicts it", async () => {
    await request("PATCH", "", { status: "inactive" });
    await clock.advance(3 * SECOND);
    const { body } = await request("PATCH", "", { status: "active" });
    expect(body.supersim.pending).toEqual({ status: "active", since: Math.floor(clock.now() / 1000) });
    kore.schedules = false;
    const done = await request("PATCH", "", { status: "active" });
    expect(done.body.supersim.pending).toBeUndefined();
    expect(done.body.status).toBe("active");
  });

  test("is stored beside what the other operator has confirmed", async () => {
    const { body } = await request("PATCH", "", { status: "inactive" });
    expect(body).toMatchObject({ supersim: { pending: { status: "inactive" } } });
    expect(body.prosim.pending).toBeUndefined();
    expect([...emnify.sims.values()][0]?.statusId).toBe(2);
  });
});

describe("what was changed at the operator", () => {
  test("is noticed within the interval, told once, and each SIM is read once in it", async () => {
    await passUntil(
      "the first reading",
      5 * SECOND,
      async () => kore.count(/GET \/v1\/Sims/) === 1 && emnify.count(/q=iccid/) === 1,
    );
    kore.sims.get(SID)!.status = "inactive";
    kore.sims.get(SID)!.fleet = "default_10gb";
    for (let step = 0; step < 4; step++) await clock.advance(HOUR / 4);
    await passUntil(
      "the next readings",
      60 * SECOND,
      async () => (await read()).supersim.network_group === "default_10gb",
    );
    expect(await actions()).toEqual(["sim.corrected"]);
    const response = await fetch(`${control.url}/v1/audit?action=sim.corrected`, {
      headers: { "X-API-Key": account.apiKey },
    });
    const { entries } = (await response.json()) as { entries: unknown[] };
    expect(entries[0]).toMatchObject({
      actor: { kind: "service" },
      asset_id: asset.uuid,
      details: { sim_type: "supersim", status: "inactive", network_group: "default_10gb", operator_status: "inactive" },
    });
    // Two in the first hour and a little of the second.
    expect(kore.count(/GET \/v1\/Sims/)).toBeLessThanOrEqual(3);
  });

  test("a SIM that is given to another account is lost, once, and found again", async () => {
    const sim = kore.sims.get(SID)!;
    kore.sims.delete(SID);
    await passUntil("the loss", 5 * SECOND, async () => (await actions()).includes("sim.lost"));
    for (let reading = 0; reading < 3; reading++) await clock.advance(HOUR);
    expect(await actions()).toEqual(["sim.lost"]);
    kore.sims.set(SID, sim);
    await passUntil("the return", HOUR / 4, async () => (await actions()).includes("sim.found"));
    expect((await read()).status).toBe("active");
  });

  test("a status that nobody knows changes nothing", async () => {
    kore.sims.get(SID)!.status = "active";
    const text = JSON.stringify({ sid: SID, iccid: ICCID, status: "hibernating", fleet_sid: null });
    kore.fail(/\/v1\/Sims/, { kind: "text", text });
    const before = await read();
    await passUntil("the reading", 5 * SECOND, async () => kore.count(/GET \/v1\/Sims/) > 0);
    await clock.advance(SECOND);
    expect((await read()).supersim).toEqual(before.supersim);
    expect(await actions()).toEqual([]);
  });
});

describe("an operator that is down", () => {
  test("makes no read of assets slow, and is asked seldom", async () => {
    kore.fail(/./, { kind: "hang" });
    await clock.advance(5 * SECOND);
    // The operator has not answered yet: nothing here waits for it.
    expect((await read()).uuid).toBe(asset.uuid);
    for (let minute = 0; minute < 3 * 60; minute++) await clock.advance(60 * SECOND);
    // Each time up to three attempts; every quarter of an hour at most.
    expect(kore.count()).toBeLessThanOrEqual(3 * (4 * 3 + 10));
    expect((await read()).supersim).toMatchObject({ network_group: "default_1gb" });
    kore.heal();
    await passUntil("it is asked again", 60 * SECOND, async () => kore.count(/GET \/v1\/Fleets/) > 0);
  });

  test("a change says which SIM was changed and which was not", async () => {
    emnify.fail(/PATCH/, { kind: "status", status: 400 });
    const { status, body } = await request("PATCH", "", { status: "inactive" });
    expect([status, body.code]).toEqual([502, "SimOperatorFailed"]);
    expect(body.details).toEqual({ changed: ["supersim.status"], not_changed: ["prosim.status"], reason: "refused" });
    expect(kore.sims.get(SID)?.status).toBe("inactive");
  });
});

const OTHER_SID = `HS${"0d".repeat(16)}`;
const registration = (sid: string, iccid: string, imsi = "295050912345679") => ({
  serial_number: `GW-${sid.slice(-4)}-${iccid.slice(-4)}`,
  type: "gateway",
  supersim: { sid, iccid, network_group: "default_1gb" },
  prosim: { imsi, iccid: "8988303000001234575", service_profile: "gold" },
});
const register = async (fields: object) => {
  const sent = fetch(`${control.url}/v1/assets`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify(fields),
  });
  const response = await whileTimePasses(clock, sent);
  return { status: response.status, body: (await response.json()) as Body };
};

describe("registering an asset", () => {
  beforeEach(() => {
    kore.addSim({ sid: OTHER_SID, iccid: "8988307000001234575", status: "inactive", fleet: "default_10gb" });
    const sim = { iccid: "8988303000001234575", imsi: "295050912345679", serviceProfile: "silver", statusId: 2 };
    emnify.addSim(sim);
  });

  test("takes the SIMs as their operators have them", async () => {
    const { status, body: asset } = await register(registration(OTHER_SID, "8988307000001234575"));
    expect(status).toBe(201);
    expect(asset).toMatchObject({
      status: "inactive",
      supersim: { network_group: "default_10gb" },
      prosim: { service_profile: "silver" },
    });
  });

  test.each([
    ["a SID that the account's operator does not know", registration(`HS${"0e".repeat(16)}`, "8988307000001234575")],
    ["the number of another SIM beside a SID that it knows", registration(OTHER_SID, "8988307000009999999")],
    [
      "the IMSI of another SIM beside a number that it knows",
      registration(OTHER_SID, "8988307000001234575", "295050900000000"),
    ],
  ])("with %s is refused, and nothing is stored", async (_what, fields) => {
    const { status, body: refused } = await register(fields);
    expect([status, refused.code]).toEqual([422, "SimUnknownToOperator"]);
    expect(await control.store.assets.findAsset(account.accountId, fields.serial_number)).toBeUndefined();
  });

  test("while an operator is away fails, and nothing is stored", async () => {
    emnify.fail(/./, { kind: "status", status: 400 });
    const fields = registration(OTHER_SID, "8988307000001234575");
    const { status, body: failed } = await register(fields);
    expect([status, failed.code]).toEqual([502, "SimOperatorFailed"]);
    expect(await control.store.assets.findAsset(account.accountId, fields.serial_number)).toBeUndefined();
    emnify.heal();
    // Refused credentials are not tried again for a minute.
    await clock.advance(61 * SECOND);
    expect((await register(fields)).status).toBe(201);
  });
});

test("operators that are not configured are served by nobody", async () => {
  expect(
    await openOperators({}, new StoredSimOperator(control.store.usage), new OperatorPool(clock)).listServed(),
  ).toEqual([]);
});
