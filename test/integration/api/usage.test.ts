import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { recordsOf } from "../../support/control-plane/usage-records.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const at = (text: string): number => Date.parse(text) / 1000;
const NOW = at("2026-11-20T12:00:00Z");
const HOUR = 3600;

const record = (iccid: string, bucket: string, start: string, bytes: number) => ({
  iccid,
  bucket,
  startTime: at(start),
  endTime: at(start) + HOUR,
  bytes,
});

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
let uuid: string;
beforeAll(async () => {
  control = await startControlPlane({ clock: new FakeClock(NOW * 1000) });
  account = await control.account();
  api = apiClient(control, account);
  const supersim = someSuperSim();
  const prosim = someProSim();
  ({ uuid } = await control.asset(account, { supersim, prosim }));
  await control.store.usage.recordUsage(
    recordsOf([
      record(supersim.iccid, "default_1gb", "2026-09-30T23:00:00Z", 1),
      record(supersim.iccid, "default_1gb", "2026-10-01T00:00:00Z", 10),
      record(supersim.iccid, "default_10gb", "2026-10-01T00:30:00Z", 20),
      record(supersim.iccid, "default_1gb", "2026-10-01T01:00:00Z", 30),
      // Across the end of the month: it counts where it begins.
      record(supersim.iccid, "default_1gb", "2026-10-31T23:30:00Z", 100),
      record(supersim.iccid, "default_1gb", "2026-11-05T00:00:00Z", 1000),
      record(supersim.iccid, "default_10gb", "2026-11-20T11:00:00Z", 2000),
      record(prosim.iccid, "gold", "2026-11-01T00:00:00Z", 7),
      record(prosim.iccid, "silver", "2026-11-02T00:00:00Z", 8),
      record(prosim.iccid, "gold", "2026-11-02T05:00:00Z", 9),
    ]),
  );
});
afterAll(() => control[Symbol.asyncDispose]());

const path = (type: string, query = ""): string => `/v1/assets/${uuid}/sims/${type}/usages${query}`;
const range = (start: string, end: string): string => `?start_time=${at(start)}&end_time=${at(end)}`;

test("by default: the current month in UTC until now, one entry per network group, final 48 hours back", async () => {
  const { status, body } = await api.get(path("supersim"));
  expect(status).toBe(200);
  expect(body).toEqual({
    start_time: at("2026-11-01T00:00:00Z"),
    end_time: NOW,
    finalized_until: NOW - 48 * HOUR,
    usages: [
      { network_group: "default_10gb", total: 2000 },
      { network_group: "default_1gb", total: 1000 },
    ],
  });
});

test("a PRO SIM: one entry per service profile, no split by network group, final 72 hours back", async () => {
  expect((await api.get(path("prosim"))).body).toEqual({
    start_time: at("2026-11-01T00:00:00Z"),
    end_time: NOW,
    finalized_until: NOW - 72 * HOUR,
    usages: [
      { service_profile: "gold", total: 16 },
      { service_profile: "silver", total: 8 },
    ],
  });
});

test("granularity hour: one entry per hour and group, empty hours left out", async () => {
  const query = `${range("2026-10-01T00:00:00Z", "2026-10-02T00:00:00Z")}&granularity=hour`;
  const start = at("2026-10-01T00:00:00Z");
  expect((await api.get(path("supersim", query))).body["usages"]).toEqual([
    { network_group: "default_10gb", total: 20, start_time: start, end_time: start + HOUR },
    { network_group: "default_1gb", total: 10, start_time: start, end_time: start + HOUR },
    { network_group: "default_1gb", total: 30, start_time: start + HOUR, end_time: start + 2 * HOUR },
  ]);
});

test("granularity day", async () => {
  const query = `${range("2026-11-01T00:00:00Z", "2026-11-20T00:00:00Z")}&granularity=day`;
  expect((await api.get(path("prosim", query))).body["usages"]).toEqual([
    { service_profile: "gold", total: 7, start_time: at("2026-11-01T00:00:00Z"), end_time: at("2026-11-02T00:00:00Z") },
    { service_profile: "gold", total: 9, start_time: at("2026-11-02T00:00:00Z"), end_time: at("2026-11-03T00:00:00Z") },
    {
      service_profile: "silver",
      total: 8,
      start_time: at("2026-11-02T00:00:00Z"),
      end_time: at("2026-11-03T00:00:00Z"),
    },
  ]);
});

test("granularity month: the first and the last period are cut to the range, a record counts where it begins", async () => {
  const query = `${range("2026-09-15T00:00:00Z", "2026-11-10T00:00:00Z")}&granularity=month`;
  expect((await api.get(path("supersim", query))).body["usages"]).toEqual([
    {
      network_group: "default_1gb",
      total: 1,
      start_time: at("2026-09-15T00:00:00Z"),
      end_time: at("2026-10-01T00:00:00Z"),
    },
    {
      network_group: "default_10gb",
      total: 20,
      start_time: at("2026-10-01T00:00:00Z"),
      end_time: at("2026-11-01T00:00:00Z"),
    },
    {
      network_group: "default_1gb",
      total: 140,
      start_time: at("2026-10-01T00:00:00Z"),
      end_time: at("2026-11-01T00:00:00Z"),
    },
    {
      network_group: "default_1gb",
      total: 1000,
      start_time: at("2026-11-01T00:00:00Z"),
      end_time: at("2026-11-10T00:00:00Z"),
    },
  ]);
});

async function profilesBetween(start: number, end: number): Promise<unknown> {
  return (await api.get(path("prosim", `?start_time=${start}&end_time=${end}`))).body["usages"];
}

test("the start belongs to the range, the end does not", async () => {
  const begin = at("2026-11-01T00:00:00Z");
  expect(await profilesBetween(begin, begin + 1)).toEqual([{ service_profile: "gold", total: 7 }]);
  expect(await profilesBetween(begin + 1, begin + HOUR)).toEqual([]);
  expect(await profilesBetween(begin - HOUR, begin)).toEqual([]);
});

test("a SIM that used nothing has an empty list", async () => {
  const other = await control.asset(account, { supersim: someSuperSim() });
  const { status, body } = await api.get(`/v1/assets/${other.uuid}/sims/supersim/usages`);
  expect([status, body["usages"]]).toEqual([200, []]);
});

test("the asset has no SIM of that type", async () => {
  const { uuid: bare } = await control.asset(account, { supersim: someSuperSim() });
  const { status, body } = await api.get(`/v1/assets/${bare}/sims/prosim/usages`);
  expect(status).toBe(404);
  expect(body).toEqual({ code: "SimNotFound", message: "The asset has no PRO SIM.", details: { sim_type: "prosim" } });
});

test.each([
  ["sim", "sim_type"],
  ["SUPERSIM", "sim_type"],
])("the SIM type %s is refused by name", async (type, field) => {
  const { status, body } = await api.get(path(type));
  expect(status).toBe(422);
  expect(body).toMatchObject({ code: "InvalidRequest", details: { issues: [{ path: field }] } });
});

test.each([
  ["?start_time=yesterday", "start_time"],
  ["?start_time=-1", "start_time"],
  ["?start_time=1.5", "start_time"],
  ["?end_time=1e9", "end_time"],
  ["?end_time=99999999999999", "end_time"],
  ["?start_time=2000&end_time=1000", "start_time"],
  ["?start_time=1000&end_time=1000", "start_time"],
  [`?start_time=0&end_time=${400 * 86_400 + 1}`, "start_time"],
  [`?start_time=${NOW + 60}`, "start_time"],
  ["?granularity=week", "granularity"],
  ["?granularity=", "granularity"],
  ["?group=x", "group"],
])("the query %s is refused by name", async (query, field) => {
  for (const type of ["supersim", "prosim"]) {
    const { status, body } = await api.get(path(type, query));
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: "InvalidRequest", details: { issues: [{ path: field }] } });
  }
});

test("400 days are allowed", async () => {
  const { status } = await api.get(
    path("supersim", `?start_time=${NOW - 400 * 86_400}&end_time=${NOW}&granularity=hour`),
  );
  expect(status).toBe(200);
});

test("the finalization periods can be configured", async () => {
  await using other = await startControlPlane({
    clock: new FakeClock(NOW * 1000),
    config: { supersim_finalization_s: 60, prosim_finalization_s: 120 },
  });
  const owner = await other.account();
  const { uuid: id } = await other.asset(owner, { supersim: someSuperSim(), prosim: someProSim() });
  const client = apiClient(other, owner);
  const final = async (type: string) =>
    (await client.get(`/v1/assets/${id}/sims/${type}/usages`)).body["finalized_until"];
  expect([await final("supersim"), await final("prosim")]).toEqual([NOW - 60, NOW - 120]);
});

test("sums beyond what JSON readers agree on stop there instead of failing", async () => {
  const supersim = someSuperSim();
  const { uuid: id } = await control.asset(account, { supersim });
  const records = Array.from({ length: 8200 }, (_, index) => ({
    iccid: supersim.iccid,
    bucket: "default_1gb",
    startTime: index,
    endTime: index + 1,
    bytes: 2 ** 40,
  }));
  await control.store.usage.recordUsage(recordsOf(records));
  const { body } = await api.get(`/v1/assets/${id}/sims/supersim/usages?start_time=0&end_time=10000`);
  expect(body["usages"]).toEqual([{ network_group: "default_1gb", total: Number.MAX_SAFE_INTEGER }]);
});
