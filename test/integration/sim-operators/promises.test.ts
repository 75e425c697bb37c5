import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { openOperators } from "../../../src/control-plane/sim-operator/sim-operators.ts";
import { OperatorPool } from "../../../src/control-plane/sim-operator/operator-pool.ts";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { type ApiClient, apiClient, type ApiResponse } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { EmnifySimulator, type SimulatedEmnifySim } from "../../support/sim-operators/emnify-simulator.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { call, Transcript } from "../../support/sim-operators/transcript.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";

// What the service promises about SIM operators, with the requests that each of it takes. To read it as a transcript:
// SIM_TRANSCRIPT=1 npm test -- test/integration/sim-operators/promises.test.ts

const DAY = 24 * 3600;
const SID = `HS${"0b".repeat(16)}`;
const ICCID = "8988307000001234567";
const PRO_ICCID_WITH_LUHN = "89883030000012345671";
const IMSI = "295050912345678";

let clock: FakeClock;
let kore: SuperSimSimulator;
let emnify: EmnifySimulator;
let proSim: SimulatedEmnifySim;
let control: ControlPlane;
let api: ApiClient;
let transcript: Transcript;

const now = (): number => Math.floor(clock.now() / 1000);
const today = (): number => now() - (now() % DAY);
const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

beforeEach(async () => {
  clock = new FakeClock(Date.UTC(2026, 10, 23, 13, 30));
  kore = await SuperSimSimulator.start(clock);
  emnify = await EmnifySimulator.start(clock);
  for (const simulator of [kore, emnify]) onTestFinished(() => simulator[Symbol.asyncDispose]());
  for (const fleet of ["default_1gb", "default_10gb"]) kore.addFleet(fleet, 1_000);
  kore.addSim({ sid: SID, iccid: ICCID, status: "ready" });
  proSim = emnify.addSim({ iccid: PRO_ICCID_WITH_LUHN.slice(0, -1), imsi: IMSI, serviceProfile: "gold" });
  const store = openStore(":memory:");
  const { url, clientId, clientSecret, tokenUrl } = kore;
  const access = {
    supersim: { url, credentials: { clientId, clientSecret, tokenUrl } },
    prosim: { url: emnify.url, applicationToken: emnify.applicationToken },
  };
  const operators = openOperators(access, new StoredSimOperator(store.usage), new OperatorPool(clock));
  control = await startControlPlane({
    clock,
    openStore: async () => store,
    // The daily reading would add requests to those that are counted.
    simOperators: { ...operators, listServed: async () => [] },
  });
  onTestFinished(() => control[Symbol.asyncDispose]());
  api = apiClient(control, await control.account());
  transcript = new Transcript([kore, emnify]);
});

afterEach(() => {
  if (process.env["SIM_TRANSCRIPT"]) console.info(transcript.toString());
});

const ask = (
  text: string,
  requests: Readonly<Record<string, number>>,
  show?: (body: ApiResponse["body"]) => unknown,
): Promise<ApiResponse> => transcript.ask(text, () => whileTimePasses(clock, call(api, text)()), requests, show);

const supersim = JSON.stringify({ sid: SID, iccid: ICCID, network_group: "default_1gb" });
const prosim = JSON.stringify({ imsi: IMSI, iccid: PRO_ICCID_WITH_LUHN, service_profile: "silver" });
const REGISTER = `POST /v1/assets {"serial_number":"GW-1","type":"gateway","supersim":${supersim},"prosim":${prosim}}`;

const register = () =>
  ask(
    REGISTER,
    {
      "POST /api-services/v1/auth/token": 1,
      "GET /v1/Sims/{id}": 1,
      "GET /v1/Fleets/{id}": 1,
      "POST /api/v1/authenticate": 1,
      "GET /api/v1/sim": 1,
      "GET /api/v1/endpoint/{id}": 1,
    },
    ({ status, supersim: own, prosim: pro }) => ({ status, supersim: own, prosim: pro }),
  );

const simsOf = ({ status, supersim: own, prosim: pro }: ApiResponse["body"]) => ({
  status,
  supersim: own,
  prosim: pro,
});
const errorOf = ({ code, details }: ApiResponse["body"]) => ({ code, details });

test("registering, changing, scheduled changes, half-way failures", async () => {
  transcript.title(
    "A SIM has to be known to the account's operator; its state is taken from there, its number in either form",
  );
  const { body } = await register();
  expect(body).toMatchObject({
    status: "active",
    supersim: { network_group: "default_1gb" },
    prosim: { service_profile: "gold", iccid: PRO_ICCID_WITH_LUHN },
  });
  const strange = `{"sid":"HS${"0c".repeat(16)}","iccid":"8988307000007654321","network_group":"default_1gb"}`;
  const unknown = `POST /v1/assets {"serial_number":"GW-2","type":"gateway","supersim":${strange}}`;
  expect((await ask(unknown, { "GET /v1/Sims/{id}": 1 }, errorOf)).status).toBe(422);

  transcript.title("A change is answered when the operators have confirmed it, with the tokens from before");
  const off = await ask(
    'PATCH /v1/assets/GW-1 {"status":"inactive"}',
    { "POST /v1/Sims/{id}": 1, "GET /api/v1/sim/{id}": 1, "PATCH /api/v1/sim/{id}": 1 },
    simsOf,
  );
  expect([off.body["status"], kore.sims.get(SID)?.status, proSim.statusId]).toEqual(["inactive", "inactive", 2]);

  transcript.title("202: what is confirmed so far, and what is pending; a contradiction takes its place");
  kore.schedules = true;
  const queued = await ask(
    'PATCH /v1/assets/GW-1 {"supersim":{"network_group":"default_10gb"}}',
    { "POST /v1/Sims/{id}": 1 },
    ({ supersim: own }) => own,
  );
  expect(queued.body["supersim"]).toMatchObject({
    network_group: "default_1gb",
    pending: { network_group: "default_10gb" },
  });
  const again = await ask(
    'PATCH /v1/assets/GW-1 {"supersim":{"network_group":"default_1gb"}}',
    { "POST /v1/Sims/{id}": 1 },
    ({ supersim: own }) => own,
  );
  expect(again.body["supersim"]).toMatchObject({ pending: { network_group: "default_1gb" } });
  kore.settle();
  kore.schedules = false;
  const settled = await ask(
    "POST /v1/assets/GW-1/sims/supersim/refresh",
    { "GET /v1/Sims/{id}": 1 },
    ({ network_group, pending, operator_status }) => ({ network_group, pending, operator_status }),
  );
  expect(settled.body["pending"]).toBeUndefined();
  await ask("POST /v1/assets/GW-1/sims/supersim/refresh", {}, () => "the same, for a minute");

  transcript.title("Half-way failures: what was changed, and what was not");
  emnify.fail(/PATCH/, { kind: "status", status: 400 });
  const half = await ask(
    'PATCH /v1/assets/GW-1 {"status":"active"}',
    { "GET /v1/Sims/{id}": 1, "POST /v1/Sims/{id}": 1, "GET /api/v1/sim/{id}": 1, "PATCH /api/v1/sim/{id}": 1 },
    errorOf,
  );
  expect(half.body).toMatchObject({
    code: "SimOperatorFailed",
    details: { changed: ["supersim.status"], not_changed: ["prosim.status"] },
  });
});

test("a year of usage twice, usage that is not final, an operator that is away", async () => {
  for (let day = 0; day < 365; day++) {
    kore.use(SID, today() - day * DAY, 1_000);
    proSim.usage.set(dateOf(today() - day * DAY), 0.5);
  }
  await register();
  const year = () => `start_time=${today() - 365 * DAY}&end_time=${now()}`;
  const usages = (type: string, granularity: string, requests: Record<string, number>) =>
    ask(
      `GET /v1/assets/GW-1/sims/${type}/usages?${year()}&granularity=${granularity}`,
      requests,
      ({ usages: found, as_of, code, details }) =>
        code === undefined ? { periods: (found as unknown[]).length, total: sumOf(found), as_of } : { code, details },
    );
  const STATS = "GET /api/v1/endpoint/{id}/stats/daily";
  transcript.title(
    "A year of usage, asked for twice: the second time nobody is asked, by whatever granularity of days",
  );
  expect(sumOf((await usages("supersim", "day", { "GET /v1/UsageRecords": 1 })).body["usages"])).toBe(365_000);
  for (const granularity of ["day", "month", "all"])
    expect(sumOf((await usages("supersim", granularity, {})).body["usages"])).toBe(365_000);
  const first = { "GET /api/v1/sim/{id}": 1, "GET /api/v1/endpoint/{id}": 1, [STATS]: 1 };
  expect(sumOf((await usages("prosim", "day", first)).body["usages"])).toBe(182_500_000);
  expect(sumOf((await usages("prosim", "day", {})).body["usages"])).toBe(182_500_000);

  transcript.title("emnify counts days");
  expect((await usages("prosim", "hour", {})).status).toBe(422);

  transcript.title("A quarter of an hour later, what is not final is asked for again: a correction backwards counts");
  await clock.advance(16 * 60_000);
  kore.use(SID, today(), 400);
  const read = { "GET /v1/UsageRecords": 1, "GET /v1/Fleets/{id}": 1 };
  expect(sumOf((await usages("supersim", "day", read)).body["usages"])).toBe(364_400);
  const records = kore.requests.findLast((request) => request.includes("UsageRecords"));
  const { searchParams } = new URL(`http://x${records?.split(" ")[1]}`);
  transcript.note(`     asked for: ${searchParams.get("StartTime")} to ${searchParams.get("EndTime")}`);
  expect(Date.parse(searchParams.get("StartTime") ?? "") / 1000).toBeGreaterThanOrEqual(today() - 4 * DAY);

  transcript.title("The operator is away: the last answer, with its age");
  await clock.advance(16 * 60_000);
  kore.fail(/./, { kind: "status", status: 500 });
  const stale = await usages("supersim", "day", { "GET /v1/UsageRecords": 3 });
  expect([stale.status, sumOf(stale.body["usages"])]).toEqual([200, 364_400]);
});

const sumOf = (usages: unknown): number =>
  (usages as readonly { readonly total: number }[]).reduce((sum, { total }) => sum + total, 0);

test("limits, shared calls, credentials that are refused", async () => {
  await register();
  await clock.advance(61_000);
  transcript.title("Twenty people ask for the same at once: one request");
  kore.delayMs = 10;
  const refresh = call(api, "POST /v1/assets/GW-1/sims/supersim/refresh {}");
  await transcript.ask(
    "20 x POST /v1/assets/GW-1/sims/supersim/refresh",
    async () => (await whileTimePasses(clock, Promise.all(Array.from({ length: 20 }, refresh))))[0]!,
    { "GET /v1/Sims/{id}": 1 },
  );
  kore.delayMs = 0;

  transcript.title("429 with Retry-After 3600: no more requests in that hour");
  kore.fail(/./, { kind: "status", status: 429, headers: { "Retry-After": "3600" } }, 1);
  const change = 'PATCH /v1/assets/GW-1 {"supersim":{"network_group":"default_10gb"}}';
  expect((await ask(change, { "POST /v1/Sims/{id}": 1 }, errorOf)).status).toBe(502);
  await clock.advance(3_500_000);
  expect((await ask(change, {}, errorOf)).status).toBe(502);
  await clock.advance(101_000);
  // The token has ended meanwhile.
  const renewed = { "POST /api-services/v1/auth/token": 1, "POST /v1/Sims/{id}": 1, "GET /v1/Fleets/{id}": 1 };
  const moved = await ask(change, renewed, ({ supersim: own }) => own);
  expect(moved.body["supersim"]).toMatchObject({ network_group: "default_10gb" });

  transcript.title("Credentials that are revoked: said, and tried again after a minute");
  kore.isRevoked = true;
  const back = change.replace("10gb", "1gb");
  expect((await ask(back, { "POST /v1/Sims/{id}": 1, "POST /api-services/v1/auth/token": 1 }, errorOf)).status).toBe(
    502,
  );
  expect((await ask(back, {}, errorOf)).status).toBe(502);
  kore.isRevoked = false;
  await clock.advance(61_000);
  const again = { "POST /api-services/v1/auth/token": 1, "POST /v1/Sims/{id}": 1, "GET /v1/Fleets/{id}": 1 };
  expect((await ask(back, again, ({ supersim: own }) => own)).status).toBe(200);
});

test("what the service does by itself: it follows up over a restart, and reads each SIM once in an interval", async () => {
  const pool = new OperatorPool(clock);
  const { url, accountSid, authToken } = kore;
  const superSim = pool.open({ supersim: { url, credentials: { accountSid, authToken } } }, "supersim")!;
  await using watching = await startControlPlane({
    clock,
    simOperators: { listServed: async () => ["supersim"], find: async () => superSim },
    // Instead of a day, for which the test would take long.
    config: { sim_sync_interval_s: 3 * 3600 },
  });
  const account = await watching.account();
  const fields = { sid: SID, iccid: ICCID, networkGroup: "default_1gb", status: "active" } as const;
  const { uuid } = await watching.asset(account, { supersim: fields });
  const request = (method: "get" | "patch", path: string, body?: object) =>
    whileTimePasses(clock, apiClient(watching, account)[method](path, body));
  const readSim = async () => (await request("get", `/v1/assets/${uuid}`)).body["supersim"] as Record<string, unknown>;
  const countOver = async (minutes: number): Promise<number> => {
    const before = kore.count(/GET \/v1\/Sims/);
    for (let minute = 0; minute < minutes; minute++) await clock.advance(60_000);
    return kore.count(/GET \/v1\/Sims/) - before;
  };

  transcript.title(
    "A change that stays queued for four hours, over a restart: asked for with pauses that grow to a quarter of an hour",
  );
  kore.schedules = true;
  await request("patch", `/v1/assets/${uuid}`, { supersim: { network_group: "default_10gb" } });
  await watching.restart();
  const followedUp = await countOver(4 * 60);
  transcript.note(`GET /v1/Sims/{id} in that time: ${followedUp}`);
  expect(followedUp).toBeGreaterThan(12);
  expect(followedUp).toBeLessThanOrEqual(4 * 4 + 10);
  expect((await readSim())["pending"]).toMatchObject({ network_group: "default_10gb" });
  kore.settle();
  const settling = await countOver(16);
  transcript.note(`it settles: ${settling} more, then ${JSON.stringify(await readSim())}`);
  expect(await readSim()).toEqual({ sid: SID, iccid: ICCID, network_group: "default_10gb" });

  transcript.title(
    "What was changed at the operator is noticed within the interval, here three hours, for one request in it",
  );
  kore.sims.get(SID)!.fleet = "default_1gb";
  const daily = await countOver(7 * 60);
  transcript.note(
    `GET /v1/Sims/{id} in seven hours: ${daily}; network_group: ${String((await readSim())["network_group"])}`,
  );
  expect([1, 2, 3]).toContain(daily);
  expect((await readSim())["network_group"]).toBe("default_1gb");
  const { entries } = (await request("get", "/v1/audit?action=sim.corrected")).body as {
    entries: { details: object }[];
  };
  transcript.note(`sim.corrected in the audit log: ${JSON.stringify(entries.map(({ details }) => details))}`);
  expect(entries).toHaveLength(1);
});
