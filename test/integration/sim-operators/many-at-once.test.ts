import { beforeEach, expect, onTestFinished, test } from "vitest";
import { openOperators } from "../../../src/control-plane/sim-operator/sim-operators.ts";
import { OperatorPool } from "../../../src/control-plane/sim-operator/operator-pool.ts";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { waitFor } from "../../support/wait-for.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";

const COUNT = 100;
const MINUTE = 60_000;

let clock: FakeClock;
let kore: SuperSimSimulator;
let emnify: EmnifySimulator;
let control: ControlPlane;
let account: TestAccount;
let assets: readonly TestAsset[];
let api: ApiClient;

/** A service that has just started: it knows of the operators what is stored. */
beforeEach(async () => {
  clock = new FakeClock();
  kore = await SuperSimSimulator.start(clock);
  emnify = await EmnifySimulator.start(clock);
  for (const simulator of [kore, emnify]) onTestFinished(() => simulator[Symbol.asyncDispose]());
  for (const fleet of ["default_1gb", "default_10gb"]) kore.addFleet(fleet);
  const store = openStore(":memory:");
  const { url, accountSid, authToken } = kore;
  const access = {
    supersim: { url, credentials: { accountSid, authToken } },
    prosim: { url: emnify.url, applicationToken: emnify.applicationToken },
  };
  control = await startControlPlane({
    clock,
    openStore: async () => store,
    simOperators: openOperators(access, new StoredSimOperator(store.usage), new OperatorPool(clock)),
  });
  onTestFinished(() => control[Symbol.asyncDispose]());
  account = await control.account();
  api = apiClient(control, account);
  const made: TestAsset[] = [];
  for (let number = 0; number < COUNT; number++) {
    const digits = String(1000 + number);
    const sid = `HS${digits.padStart(32, "0")}`;
    const iccid = `898830700000123${digits}`;
    kore.addSim({ sid, iccid });
    const pro = emnify.addSim({ iccid: `898830300000123${digits}`, imsi: `29505091234${digits}` });
    made.push(
      await control.asset(account, {
        supersim: { sid, iccid, networkGroup: "default_1gb", status: "active" },
        prosim: { iccid: pro.iccid, imsi: pro.imsi, serviceProfile: pro.serviceProfile, status: "active" },
      }),
    );
  }
  assets = made;
});

const changeAll = (fields: object) =>
  Promise.all(assets.map(({ uuid }) => api.patch(`/v1/assets/${uuid}`, fields).then(({ status }) => status)));

test("a hundred assets that are updated at once are all changed, within the limits of both operators", async () => {
  const statuses = await whileTimePasses(clock, changeAll({ status: "inactive" }));
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  expect([...kore.sims.values()].filter(({ status }) => status === "inactive")).toHaveLength(COUNT);
  expect([...emnify.sims.values()].filter(({ statusId }) => statusId === 2)).toHaveLength(COUNT);
  expect([kore.count(/POST \/v1\/Sims/), emnify.count(/PATCH/)]).toEqual([COUNT, COUNT]);
  expect(emnify.throttled).toBe(0);
  for (const { maxParallel } of [kore, emnify]) expect(maxParallel).toBeLessThanOrEqual(4);
});

test("while an operator does not answer, and a hundred updates wait for it, nothing else waits", async () => {
  kore.fail(/./, { kind: "hang" });
  const changes = changeAll({ status: "inactive" });
  await waitFor("the requests to be under way", () => kore.count() >= 4);
  const { uuid } = assets[0]!;
  // No time passes meanwhile.
  for (const path of ["/v1/assets", `/v1/assets/${uuid}`, "/v1/sims", "/v1/audit", "/readyz", "/v1/network-groups"])
    expect((await api.get(path)).status, path).toBeLessThan(500);
  expect((await api.patch(`/v1/assets/${assets[7]!.uuid}/tags`, { a: "b" })).status).toBeLessThan(500);
  const began = clock.monotonic();
  const statuses = await whileTimePasses(clock, changes);
  expect(new Set(statuses)).toEqual(new Set([502]));
  expect(clock.monotonic() - began).toBeLessThan(30_000);
  expect(kore.count()).toBeLessThanOrEqual(12);
  expect([...emnify.sims.values()].every(({ statusId }) => statusId === 1)).toBe(true);
});

test("429 for an hour: nobody asks in it, what is stored is shown, and later all is well", async () => {
  const { uuid } = assets[0]!;
  const usages = () => whileTimePasses(clock, api.get(`/v1/assets/${uuid}/sims/supersim/usages`));
  const { status, body } = await usages();
  expect(status).toBe(200);
  kore.fail(/./, { kind: "status", status: 429, headers: { "Retry-After": "3600" } });
  const before = kore.count();
  for (let minute = 0; minute < 59; minute++) {
    await clock.advance(MINUTE);
    if (minute === 0) continue;
    expect((await whileTimePasses(clock, api.patch(`/v1/assets/${uuid}`, { status: "inactive" }))).status).toBe(502);
    const later = await usages();
    expect([later.status, later.body["as_of"]]).toEqual([200, body["as_of"]]);
  }
  // Those that were under way when the first one was told.
  expect(kore.count() - before).toBeLessThanOrEqual(4);
  kore.heal();
  await clock.advance(2 * MINUTE);
  expect((await whileTimePasses(clock, api.patch(`/v1/assets/${uuid}`, { status: "inactive" }))).status).toBe(200);
  expect((await usages()).body["as_of"]).toBeGreaterThan(Number(body["as_of"]));
});
