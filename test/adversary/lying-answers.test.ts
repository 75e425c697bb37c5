import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { MAX_LEDGER_BYTES } from "../../src/control-plane/core/device-ledger.ts";
import { apiClient } from "../support/api-client.ts";
import { startControlPlane } from "../support/control-plane.ts";
import { someApp, someLedgerDay, someState } from "../support/control-plane/device-samples.ts";
import { FakeDevice } from "../support/fake-device.ts";

async function setUp() {
  await using stack = new AsyncDisposableStack();
  const control = stack.use(await startControlPlane());
  const account = await control.account();
  const asset = await control.asset(account);
  const device = stack.use(await FakeDevice.connect(control.agentUrl, asset.deviceToken));
  const api = apiClient(control, account);
  const edge = `/v1/assets/${asset.uuid}/edge`;
  const ledgerBytes = (): number => {
    using file = new DatabaseSync(control.databasePath, { readOnly: true });
    const row = file.prepare("SELECT octet_length(ledger) AS bytes FROM device_ledgers").get();
    return Number(row?.["bytes"] ?? 0);
  };
  const owned = stack.move();
  return { control, device, api, edge, ledgerBytes, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const dayOf = (index: number): string => new Date(Date.UTC(2020, 0, 1 + index)).toISOString().slice(0, 10);

/** Days with names of the maximum length: as large as one frame may be. */
function largeDays(from: number, count: number) {
  return Array.from({ length: count }, (_, index) => {
    const names = Array.from({ length: 250 }, (_, app) => `app-${app}-`.padEnd(60, "x"));
    const by_app = Object.fromEntries(names.map((name) => [name, 1]));
    return { ...someLedgerDay(dayOf(from + index), 1), by_app };
  });
}

test("an answer about data usage with names of 4 kB is refused and not stored", async () => {
  await using system = await setUp();
  const { device, api, edge, ledgerBytes } = system;
  for (let round = 0; round < 3; round++) {
    const asked = api.get(`${edge}/data-usage?from=2026-11-01&to=2026-11-02`);
    const { query_id } = await device.next("query");
    const names = Array.from({ length: 40 }, (_, index) => `${round}-${index}-`.padEnd(4_000, "x"));
    const by_app = Object.fromEntries(names.map((name) => [name, 1]));
    device.answer(query_id, { days: [{ ...someLedgerDay("2026-11-01", 1), by_app }], deployments: [], budget: null });
    expect(await asked).toMatchObject({ status: 502, body: { code: "DeviceFailed" } });
  }
  expect(ledgerBytes()).toBe(0);
});

test("days that were not requested are ignored in an answer", async () => {
  await using system = await setUp();
  const { device, api, edge } = system;
  const ask = async (from: string, to: string, days: unknown[], deployments: unknown[] = []) => {
    const asked = api.get(`${edge}/data-usage?from=${from}&to=${to}`);
    const { query_id } = await device.next("query");
    device.answer(query_id, { days, deployments, budget: null });
    return (await asked).body;
  };
  const usage = { deployment_id: "dep_1", app: "web", sent_bytes: 1, received_bytes: 1 };
  const reportedDays = [someLedgerDay("2026-11-01", 1), someLedgerDay("2026-10-01", 2), someLedgerDay("2027-01-01", 3)];
  await ask("2026-11-01", "2026-11-01", reportedDays, [
    { ...usage, day: "2026-11-01" },
    { ...usage, day: "2026-10-01" },
  ]);
  const all = await ask("2026-09-01", "2027-01-31", []);
  expect(all["days"]).toMatchObject([{ day: "2026-11-01" }]);
  expect(all["deployments"]).toMatchObject([{ day: "2026-11-01" }]);
});

test("the stored ledger stays small with any number of large answers", async () => {
  await using system = await setUp();
  const { device, api, edge, ledgerBytes } = system;
  for (let round = 0; round < 12; round++) {
    const asked = api.get(`${edge}/data-usage?from=${dayOf(round * 40)}&to=${dayOf(round * 40 + 39)}`);
    const { query_id } = await device.next("query");
    device.answer(query_id, { days: largeDays(round * 40, 40), deployments: [], budget: null });
    expect((await asked).status).toBe(200);
    expect(ledgerBytes()).toBeLessThanOrEqual(MAX_LEDGER_BYTES);
  }
  // The newest days are kept.
  const asked = api.get(`${edge}/data-usage?from=${dayOf(479)}&to=${dayOf(479)}`);
  const { query_id } = await device.next("query");
  device.answer(query_id, { days: [], deployments: [], budget: null });
  expect((await asked).body["days"]).toMatchObject([{ day: dayOf(479) }]);
});

test("a second answer to a query that takes one is ignored", async () => {
  await using system = await setUp();
  const { device, api, edge } = system;
  const asked = api.get(`${edge}/data-usage?from=2026-11-01&to=2026-11-02`);
  const { query_id } = await device.next("query");
  for (const bytes of [1, 2, 3]) {
    device.answer(query_id, { days: [someLedgerDay("2026-11-01", bytes)], deployments: [], budget: null });
  }
  expect((await asked).body["days"]).toEqual([someLedgerDay("2026-11-01", 1)]);
  await device.flushed();
  const again = api.get(`${edge}/data-usage?from=2026-11-01&to=2026-11-02`);
  device.answer((await device.next("query")).query_id, { days: [], deployments: [], budget: null });
  expect((await again).body["days"]).toEqual([someLedgerDay("2026-11-01", 1)]);
});

test("an answer about another app than the requested one is refused", async () => {
  await using system = await setUp();
  const { device, api, edge } = system;
  const asked = api.get(`${edge}/apps/web?reveal=environments`);
  const { query_id } = await device.next("query");
  device.answer(query_id, { app: someApp("other"), spec: { name: "other", image: "web:1" } });
  expect(await asked).toMatchObject({ status: 502, body: { code: "DeviceFailed" } });
});

test("a log that is not followed ends, even if the device keeps sending", async () => {
  await using system = await setUp();
  const { control, device, edge } = system;
  const account = await control.account();
  const asset = await control.asset(account);
  await using sender = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  const path = `${edge.replace(/[^/]+\/edge$/, asset.uuid)}/edge/apps/web/logs?tail=10`;
  const asked = fetch(control.url + path, { headers: { "X-API-Key": account.apiKey, Accept: "text/plain" } });
  const { query_id } = await sender.next("query");
  const line = { stream: "stdout", time: "2026-11-20T10:00:00Z", text: "line" };
  for (let count = 0; count < 50; count++) sender.answer(query_id, { lines: [line] });
  for (let count = 0; count < 500; count++) sender.answer(query_id, { lines: [] });
  const text = await (await asked).text();
  expect(text.match(/ stdout line$/gm)).toHaveLength(10);
  expect(text).toContain("[the log ends here:");
  expect(text).toContain("(DeviceFailed)");
  expect(device.isClosed).toBe(false);
});

test("a frame that is nested too deeply is refused, and the device stays connected", async () => {
  await using system = await setUp();
  const { device, api, edge } = system;
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  const app = JSON.stringify(someApp("web")).replace('"spec":{', `"spec":{"deep":${deep},`);
  device.send(`{"type":"report","base":null,"hash":"h1","apps":[${app}],"removed_apps":[]}`);
  await device.flushed();
  const asked = api.get(`${edge}/device`);
  for (let count = 0; count < 2; count++) {
    const { query_id, what } = await device.next("query");
    device.answer(query_id, what === "device" ? someState() : { days: [], deployments: [], budget: null });
  }
  expect((await asked).status).toBe(200);
  expect((await api.get(`${edge}/apps`)).body["apps"]).toEqual([]);
});
