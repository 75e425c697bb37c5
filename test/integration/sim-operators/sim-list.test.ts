import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import { SuperSimOperator } from "../../../src/control-plane/sim-operator/super-sim/super-sim-operator.ts";
import type { SimEntryBody, SimList } from "../../../src/protocol/assets/sim-list.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { waitFor } from "../../support/wait-for.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";

const SID = `HS${"0b".repeat(16)}`;
const ICCID = "8988307000001234567";
const READS = /GET \/v1\/Sims/;

let clock: FakeClock;
let kore: SuperSimSimulator;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;

beforeEach(async () => {
  clock = new FakeClock();
  kore = await SuperSimSimulator.start(clock);
  onTestFinished(() => kore[Symbol.asyncDispose]());
  for (const fleet of ["default_1gb", "default_10gb"]) kore.addFleet(fleet);
  kore.addSim({ sid: SID, iccid: ICCID });
  const { accountSid, authToken, url } = kore;
  const superSim = new SuperSimOperator({ url, credentials: { accountSid, authToken }, clock });
  control = await startControlPlane({
    clock,
    simOperators: {
      listServed: async () => ["supersim"],
      find: async (_account, type) => (type === "supersim" ? superSim : new StoredSimOperator(control.store.usage)),
    },
  });
  onTestFinished(() => control[Symbol.asyncDispose]());
  account = await control.account();
  asset = await control.asset(account, {
    name: "Gateway",
    supersim: { sid: SID, iccid: ICCID, networkGroup: "default_1gb", status: "active" },
    prosim: someProSim({ serviceProfile: "gold", status: "inactive" }),
  });
});

/** Of a list, of a SIM, of an error, or of the audit log. */
interface Body extends SimList, SimEntryBody {
  readonly code?: string;
  readonly message?: string;
  readonly details?: unknown;
  readonly entries?: readonly unknown[];
}

async function call(method: string, path: string, { apiKey }: TestAccount = account) {
  const sent = fetch(`${control.url}${path}`, { method, headers: { "X-API-Key": apiKey } });
  const response = await whileTimePasses(clock, sent);
  return { status: response.status, body: (await response.json()) as Body };
}

const list = async (query = "", as = account) => (await call("GET", `/v1/sims${query}`, as)).body;
const refresh = (type = "supersim", as = account) => call("POST", `/v1/assets/${asset.uuid}/sims/${type}/refresh`, as);

/** The first reading that the service makes by itself. */
async function firstReading(): Promise<void> {
  await waitFor("the first reading", async () => {
    if ((await list("?type=supersim")).sims[0]?.checked_at !== null) return true;
    await clock.advance(5_000);
    return false;
  });
}

describe("the list of SIMs", () => {
  test("shows each with what its operator said of it last", async () => {
    await firstReading();
    const { sims, next_cursor } = await list();
    expect(next_cursor).toBeNull();
    expect(sims).toEqual([
      {
        type: "prosim",
        iccid: asset.asset.prosim?.iccid,
        asset_id: asset.uuid,
        asset_name: "Gateway",
        serial_number: asset.asset.serialNumber,
        status: "inactive",
        service_profile: "gold",
        lost: false,
        checked_at: null,
      },
      {
        type: "supersim",
        iccid: ICCID,
        asset_id: asset.uuid,
        asset_name: "Gateway",
        serial_number: asset.asset.serialNumber,
        status: "active",
        operator_status: "active",
        network_group: "default_1gb",
        lost: false,
        checked_at: expect.any(Number) as number,
      },
    ]);
  });

  test("is paged, filtered by type, and of this account only", async () => {
    const stranger = await control.account();
    await control.asset(stranger, { supersim: someSuperSim() });
    for (let count = 0; count < 4; count++)
      await control.asset(account, { supersim: someSuperSim(), prosim: someProSim() });
    const whole = (await list()).sims;
    expect(whole).toHaveLength(10);
    const paged: SimEntryBody[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: SimList = await list(`?limit=3${cursor && `&cursor=${cursor}`}`);
      expect(page.sims.length).toBeLessThanOrEqual(3);
      paged.push(...page.sims);
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(whole);
    expect((await list("?type=prosim")).sims.map(({ type }) => type)).toEqual(Array(5).fill("prosim"));
    expect((await list("", stranger)).sims).toHaveLength(1);
    const refused = await call("GET", `/v1/sims?cursor=${Buffer.from("1 x supersim").toString("base64url")}`);
    expect([refused.status, refused.body.code]).toEqual([422, "InvalidRequest"]);
  });

  test("has allowances with their use as it was judged last, and finds those that run out", async () => {
    await firstReading();
    const now = Math.floor(clock.now() / 1000);
    kore.use(SID, now, 600_000_000);
    expect((await list("?attention=data")).sims).toEqual([]);
    const allowance = `/v1/assets/${asset.uuid}/sims/supersim/allowance`;
    const headers = { "X-API-Key": account.apiKey, "Content-Type": "application/json" };
    const set = fetch(`${control.url}${allowance}`, {
      method: "PUT",
      headers,
      body: JSON.stringify({ bytes: 500_000_000 }),
    });
    expect((await whileTimePasses(clock, set)).status).toBe(200);
    kore.fail(/./, { kind: "hang" });
    const before = kore.count();
    const { sims } = await list("?attention=data");
    expect(sims).toMatchObject([
      {
        type: "supersim",
        allowance: {
          bytes: 500_000_000,
          source: "manual",
          period: "calendar_month",
          used_bytes: 600_000_000,
          forecast_bytes: 600_000_000,
          as_of: expect.any(Number) as number,
        },
      },
    ]);
    expect((await list("?type=prosim")).sims[0]?.allowance).toBeUndefined();
    expect(kore.count()).toBe(before);
    // Nothing is known of the next month yet.
    clock.pass(31 * 86_400_000);
    expect((await list("?type=supersim")).sims[0]?.allowance?.used_bytes).toBeUndefined();
  });

  test("has the operator's words from its answer to a change; where none serves the type there are none", async () => {
    await firstReading();
    const headers = { "X-API-Key": account.apiKey, "Content-Type": "application/json" };
    const body = JSON.stringify({ status: "inactive" });
    const change = fetch(`${control.url}/v1/assets/${asset.uuid}`, { method: "PATCH", headers, body });
    expect((await whileTimePasses(clock, change)).status).toBe(200);
    const { sims } = await list();
    expect(sims.map(({ status, operator_status: said }) => [status, said])).toEqual([
      ["inactive", undefined],
      ["inactive", "inactive"],
    ]);
  });

  test("asks no operator", async () => {
    await firstReading();
    kore.fail(/./, { kind: "hang" });
    const before = kore.count();
    expect((await list()).sims).toHaveLength(2);
    expect(kore.count()).toBe(before);
  });
});

describe("the SIMs of one asset", () => {
  test("are those of the list, and nobody else's", async () => {
    await firstReading();
    const other = await control.asset(account, { supersim: someSuperSim() });
    const bare = await control.asset(account, {});
    const of = ({ uuid }: TestAsset, as = account) => call("GET", `/v1/assets/${uuid}/sims`, as);
    const { sims } = await list();
    const byUuid = (uuid: string) => sims.filter(({ asset_id: id }) => id === uuid);
    const shown = (await of(asset)).body.sims;
    expect(shown).toHaveLength(2);
    expect(shown.toSorted((a, b) => (a.type < b.type ? -1 : 1))).toEqual(byUuid(asset.uuid));
    expect((await of(other)).body).toEqual({ sims: byUuid(other.uuid) });
    expect((await of(bare)).body).toEqual({ sims: [] });
    const foreign = await of(asset, await control.account());
    expect([foreign.status, foreign.body.code]).toEqual([404, "AssetNotFound"]);
  });

  test("are shown without asking an operator", async () => {
    await firstReading();
    kore.fail(/./, { kind: "hang" });
    const before = kore.count();
    expect((await call("GET", `/v1/assets/${asset.uuid}/sims`)).body.sims).toHaveLength(2);
    expect(kore.count()).toBe(before);
  });
});

describe("refreshing a SIM", () => {
  beforeEach(async () => {
    await firstReading();
    await clock.advance(61_000);
  });

  test("stores and returns what the operator says now, and tells the difference", async () => {
    Object.assign(kore.sims.get(SID)!, { status: "inactive", fleet: "default_10gb" });
    const { status, body } = await refresh();
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "inactive", operator_status: "inactive", network_group: "default_10gb" });
    expect((await list("?type=supersim")).sims).toEqual([body]);
    const log = await call("GET", "/v1/audit?action=sim.corrected");
    expect(log.body.entries).toMatchObject([{ actor: { kind: "service" }, details: { status: "inactive" } }]);
  });

  test("asks the operator once a minute, however many people ask", async () => {
    const before = kore.count(READS);
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh()));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(kore.count(READS)).toBe(before + 1);
    await clock.advance(61_000);
    await refresh();
    expect(kore.count(READS)).toBe(before + 2);
  });

  test("says of one that the operator does not know any more that it is lost, and keeps its state", async () => {
    kore.sims.delete(SID);
    const { body } = await refresh();
    expect(body).toMatchObject({ lost: true, status: "active", network_group: "default_1gb" });
    expect(body.operator_status).toBeUndefined();
  });

  test.each([
    ["refused", { kind: "status", status: 400 }, "The SIM operator refused the request."],
    ["unavailable", { kind: "status", status: 503 }, "The SIM operator did not answer."],
    ["credentials", { kind: "status", status: 401 }, "The SIM operator does not accept the credentials for it."],
    ["malformed", { kind: "html", status: 200 }, "The SIM operator's answer could not be understood."],
    [
      "throttled",
      { kind: "status", status: 429, headers: { "Retry-After": "3600" } },
      "The SIM operator takes no more requests for now.",
    ],
  ] as const)("fails with the reason %s in words, and changes nothing", async (reason, fault, message) => {
    const before = (await list("?type=supersim")).sims;
    kore.fail(/./, fault);
    const { status, body } = await refresh();
    expect([status, body.code, body.message]).toEqual([502, "SimOperatorFailed", message]);
    const pause = reason === "throttled" ? { retry_after_s: 3600 } : {};
    expect(body.details).toEqual({ sim_type: "supersim", reason, ...pause });
    expect((await list("?type=supersim")).sims).toEqual(before);
  });

  test("of a type that no operator serves returns what is stored", async () => {
    const { status, body } = await refresh("prosim");
    expect(status).toBe(200);
    expect(body).toMatchObject({ type: "prosim", checked_at: null, status: "inactive" });
  });

  test("of a SIM that is not there, or of another account's asset, is 404", async () => {
    const bare = await control.asset(account);
    const missing = await call("POST", `/v1/assets/${bare.uuid}/sims/supersim/refresh`);
    expect([missing.status, missing.body.code]).toEqual([404, "SimNotFound"]);
    const foreign = await refresh("supersim", await control.account());
    expect([foreign.status, foreign.body.code]).toEqual([404, "AssetNotFound"]);
  });
});
