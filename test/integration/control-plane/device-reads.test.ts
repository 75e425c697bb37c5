import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiClient, type ApiResponse } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someFacts, someLedgerDay, someState } from "../../support/control-plane/device-samples.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  clock = new FakeClock(Date.UTC(2026, 10, 20, 12));
  control = await startControlPlane({ clock });
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const nowS = (): number => Math.floor(clock.now() / 1000);
const get = (uuid: string, path: string): Promise<ApiResponse> =>
  apiClient(control, account).get(`/v1/assets/${uuid}/edge/${path}`);

describe("the device", () => {
  test("is queried while it is connected; while it is offline the stored report is returned", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    expect((await get(uuid, "device")).body).toEqual({
      device: null,
      data_usage: { today: null, budget: null },
      live: false,
      reachable: false,
      last_seen: null,
      reported_at: null,
      age_s: null,
    });
    const device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.report({ hash: "h1", device: someFacts({ hostname: "gw-reported" }) });
    const asking = get(uuid, "device");
    const state = await device.next("query");
    expect(state).toMatchObject({ what: "device", params: {} });
    const ledger = await device.next("query");
    expect(ledger).toMatchObject({ what: "data_usage", params: { from: "2026-11-20", to: "2026-11-20" } });
    const budget = { monthly_bytes: 1_000_000, daily_bytes: null, used_this_month_bytes: 5, used_today_bytes: 5 };
    device.answer(ledger.query_id, { days: [someLedgerDay("2026-11-20", 5)], deployments: [], budget });
    device.answer(state.query_id, someState());
    expect((await asking).body).toEqual({
      device: someState(),
      data_usage: { today: someLedgerDay("2026-11-20", 5), budget },
      live: true,
      reachable: true,
      last_seen: nowS(),
      reported_at: nowS(),
      age_s: 0,
    });
    await device.cut();
    const away = await waitFor("the end of the session to be stored", async () => {
      const answer = await get(uuid, "device");
      return answer.body["reachable"] === false && answer;
    });
    expect(away.body).toMatchObject({ live: false, device: { hostname: "gw-reported" } });
    expect(away.body["device"]).not.toHaveProperty("cpu_percent");
    expect(away.body["data_usage"]).toEqual({ today: someLedgerDay("2026-11-20", 5), budget });
  });

  test("that does not answer in time is shown by its stored report, and its connection is checked", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.report({ hash: "h1", device: someFacts() });
    const asking = get(uuid, "device");
    await device.next("query");
    await clock.advance(10_000);
    expect((await asking).body).toMatchObject({ live: false, device: { hostname: "gw-1" } });
  });
});

describe("data usage", () => {
  test("has the counts of the device and of its SIMs for the requested days", async () => {
    const supersim = someSuperSim();
    const { uuid, deviceToken } = await control.asset(account, { supersim });
    const noon = Date.UTC(2026, 10, 18, 12) / 1000;
    const record = { iccid: supersim.iccid, bucket: "default_1gb", endTime: noon + 3600 };
    await control.store.usage.recordUsage(
      (async function* records() {
        yield { ...record, startTime: noon, bytes: 500 };
        yield { ...record, bucket: "default_10gb", startTime: noon + 60, bytes: 50 };
      })(),
    );
    const device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const asking = get(uuid, "data-usage");
    const query = await device.next("query");
    expect(query).toMatchObject({ what: "data_usage", params: { from: "2026-11-01", to: "2026-11-20" } });
    const days = [someLedgerDay("2026-11-18", 1), someLedgerDay("2026-11-19", 2)];
    const deployments = [
      { deployment_id: "dep_1", app: "web", day: "2026-11-18", sent_bytes: 1, received_bytes: 1000 },
    ];
    device.answer(query.query_id, { days, deployments, budget: null });
    const { body } = await asking;
    expect(body).toEqual({
      from: "2026-11-01",
      to: "2026-11-20",
      days,
      deployments,
      budget: null,
      sims: [
        {
          sim_type: "supersim",
          iccid: supersim.iccid,
          days: [{ day: "2026-11-18", total: 550 }],
          finalized_until: nowS() - 48 * 3600,
        },
      ],
      live: true,
      reachable: true,
      last_seen: nowS(),
      reported_at: nowS(),
      age_s: 0,
    });
    await device.cut();
    const toldAt = nowS();
    await clock.advance(30_000);
    expect((await get(uuid, "data-usage?from=2026-11-19&to=2026-11-19")).body).toMatchObject({
      days: [days[1]],
      deployments: [],
      sims: [{ days: [] }],
      live: false,
      reachable: false,
      reported_at: toldAt,
      age_s: 30,
    });
  });

  test("of a new answer replaces the days it has, and keeps the other days", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const device = await FakeDevice.connect(control.agentUrl, deviceToken);
    for (const days of [
      [someLedgerDay("2026-11-10", 1), someLedgerDay("2026-11-11", 1)],
      [someLedgerDay("2026-11-11", 2), someLedgerDay("2026-11-12", 3)],
    ]) {
      const asking = get(uuid, "data-usage");
      device.answer((await device.next("query")).query_id, { days, deployments: [], budget: null });
      await asking;
    }
    await device.cut();
    const { body } = await get(uuid, "data-usage");
    expect(body["days"]).toEqual([
      someLedgerDay("2026-11-10", 1),
      someLedgerDay("2026-11-11", 2),
      someLedgerDay("2026-11-12", 3),
    ]);
  });

  test.each([
    ["from=2026-02-30", "from"],
    ["to=2026-13-01", "to"],
    ["from=yesterday", "from"],
    ["from=2026-11-03&to=2026-11-02", "from"],
    ["from=2025-01-01&to=2026-11-01", "from"],
    ["day=2026-11-03", "day"],
  ])("of %s is refused by the name of the parameter", async (query, path) => {
    const { uuid } = await control.asset(account);
    const { status, body } = await get(uuid, `data-usage?${query}`);
    expect([status, body["code"]]).toEqual([422, "InvalidRequest"]);
    expect(body["details"]).toMatchObject({ issues: [{ path }] });
  });

  test("of a device that was never queried has the SIMs' counts only", async () => {
    const { uuid } = await control.asset(account, { supersim: someSuperSim() });
    expect((await get(uuid, "data-usage?from=2026-11-01&to=2026-11-01")).body).toMatchObject({
      days: [],
      budget: null,
      sims: [{ sim_type: "supersim", days: [] }],
      reported_at: null,
      age_s: null,
    });
  });
});
