import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { documented, fill, runPrinted } from "../../support/documentation.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";

const NOW = Date.parse("2026-11-20T12:00:00Z") / 1000;
const HOUR = 3_600;
const DAY = 86_400;

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
let uuid: string;
let serialNumber: string;
let device: FakeDevice;
beforeAll(async () => {
  control = await startControlPlane({ clock: new FakeClock(NOW * 1000) });
  account = await control.account();
  api = apiClient(control, account);
  const asset = await control.asset(account);
  ({ uuid, serialNumber } = asset.asset);
  device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
});
afterAll(async () => {
  await device[Symbol.asyncDispose]();
  await control[Symbol.asyncDispose]();
});

const series = (length: number, metric = "cpu_percent") => {
  const values = Array.from({ length }, () => 5);
  return { metric, min: values, mean: values, max: values };
};

/** Asks for the health, and has the device answer with this body. */
async function ask(query: string, body: unknown) {
  const asking = api.get(`/v1/assets/${uuid}/health${query}`);
  const asked = await device.next("query");
  device.answer(asked.query_id, body);
  return { asked, response: await asking };
}

test("is asked of the device, for 48 hours by default, and returned as it is", async () => {
  const body = { interval_s: 1_800, at: [NOW - 2 * HOUR, NOW - HOUR], series: [series(2)] };
  const { asked, response } = await ask("", body);
  expect(asked).toMatchObject({ what: "health", params: { from: NOW - 48 * HOUR, to: NOW, points: 96 } });
  expect(response).toMatchObject({ status: 200, body: { source: "device", ...body } });
  const second = await ask(`?from=${NOW - HOUR}&points=5`, { interval_s: 900, at: [], series: [] });
  expect(second.asked).toMatchObject({ params: { from: NOW - HOUR, to: NOW, points: 5 } });
  expect(second.response.body).toEqual({ source: "device", interval_s: 900, at: [], series: [] });
});

test("the commands of the documentation run as they are printed", async () => {
  const opening = fill(documented("docs/api.md", "The HTTP API"), {
    "http://127.0.0.1:8080": control.url,
    "ek_…": account.apiKey,
  });
  const running = runPrinted(
    fill(documented("docs/history.md", "Health"), { "GW-2026-000123": serialNumber }),
    opening,
  );
  const asked = await device.next("query");
  expect(asked).toMatchObject({ what: "health", params: { points: 24 } });
  device.answer(asked.query_id, { interval_s: 7_200, at: [], series: [] });
  expect(await running).toContain('"interval_s":7200');
  const apps = fill(documented("docs/history.md", "Apps"), { "GW-2026-000123": serialNumber });
  expect(await runPrinted(apps, opening)).toContain('"omitted_apps":0');
});

const at = NOW - HOUR;
const columns = { mean: [5], max: [7] };
const web = { app: "web", cpu_percent: columns, memory_bytes: columns, restarts: [1] };
const used = { interval_s: 900, at: [at], apps: [web], omitted_apps: 0 };

test("has what the apps used where it is asked for, from the device and from the service", async () => {
  const body = { interval_s: 900, at: [at], series: [series(1)], apps: used };
  const { asked, response } = await ask("?apps=true", body);
  expect(asked).toMatchObject({ params: { apps: true } });
  expect(response).toMatchObject({ status: 200, body: { source: "device", ...body } });
  const away = await control.asset(account);
  await control.store.health.addRows(
    away.uuid,
    [{ at, spreads: {} }],
    [
      {
        at,
        apps: new Map([["web", { cpu_percent: [0.1, 0.2], memory_bytes: [65_536, 131_072], restarts: 2 }]]),
      },
    ],
  );
  const path = `/v1/assets/${away.uuid}/health`;
  expect((await api.get(`${path}?apps=true`)).body).toMatchObject({
    source: "service",
    apps: {
      interval_s: HOUR,
      at: [at],
      apps: [
        {
          app: "web",
          cpu_percent: { mean: [0.1], max: [0.2] },
          memory_bytes: { mean: [65_536], max: [131_072] },
          restarts: [2],
        },
      ],
      omitted_apps: 0,
    },
  });
  expect((await api.get(path)).body).not.toHaveProperty("apps");
});

test.each<[string, unknown]>([
  ["points from 1970", { interval_s: 300, at: [5], series: [series(1)] }],
  ["points from 2100", { interval_s: 300, at: [4_102_444_800], series: [series(1)] }],
  ["points in another order", { interval_s: 300, at: [at + 300, at], series: [series(2)] }],
  ["one point twice", { interval_s: 300, at: [at, at], series: [series(2)] }],
  ["more points than asked for", { interval_s: 300, at: [at, at + 1, at + 2, at + 3], series: [series(4)] }],
  ["10,000 points", { interval_s: 300, at: Array.from({ length: 10_000 }, (_, i) => at + i), series: [] }],
  ["a series of another length", { interval_s: 300, at: [at], series: [series(2)] }],
  ["a metric twice", { interval_s: 300, at: [at], series: [series(1), series(1)] }],
  ["a metric that is none", { interval_s: 300, at: [at], series: [series(1, "x".repeat(100_000))] }],
  ["a text for a number", { interval_s: 300, at: [at], series: [{ ...series(1), max: ["NaN"] }] }],
  ["a value out of all bounds", { interval_s: 300, at: [at], series: [{ ...series(1), max: [1e300] }] }],
  ["an interval of nothing", { interval_s: 0, at: [], series: [] }],
  ["no object", "health"],
  ["an app twice", { interval_s: 300, at: [], series: [], apps: { ...used, apps: [web, web] } }],
  ["an app's column of another length", { interval_s: 300, at: [], series: [], apps: { ...used, at: [] } }],
  ["points of apps from 1970", { interval_s: 300, at: [], series: [], apps: { ...used, at: [5] } }],
  [
    "an app with a text for its memory",
    { interval_s: 300, at: [], series: [], apps: { ...used, apps: [{ ...web, restarts: ["x"] }] } },
  ],
])("an answer with %s is refused", async (_what, body) => {
  const { response } = await ask("?points=3&apps=true", body);
  expect(response).toMatchObject({ status: 502, body: { code: "DeviceFailed" } });
});

test.each([
  ["from=5"],
  [`from=${NOW - 48 * HOUR - 1}&source=device`],
  ["source=else"],
  [`from=${NOW}`],
  [`from=${NOW + 5}`],
  ["points=201"],
  ["points=0"],
  ["points=1e1"],
  ["apps=yes"],
])("%s is refused before the device is asked", async (query) => {
  expect((await api.get(`/v1/assets/${uuid}/health?${query}`)).status).toBe(422);
});

/** An asset whose device is away, with a row for each quarter of an hour of the last days: the number of the quarter. */
async function awayWithRows(days: number): Promise<string> {
  const away = await control.asset(account);
  const rows = Array.from({ length: days * 96 }, (_, index) => ({
    at: NOW - days * DAY + index * 900,
    spreads: { cpu_percent: [index % 100, (index % 100) + 1, (index % 100) + 2] as const },
  }));
  for (let from = 0; from < rows.length; from += 96)
    await control.store.health.addRows(away.uuid, rows.slice(from, from + 96));
  return away.uuid;
}

test("of a device that is not connected is what it has sent before, unless the device is to be asked", async () => {
  const away = await awayWithRows(1);
  const { body } = await api.get(`/v1/assets/${away}/health?from=${NOW - HOUR}`);
  const at = [4, 3, 2, 1].map((quarters) => NOW - quarters * 900);
  expect(body).toEqual({
    source: "service",
    interval_s: 900,
    at,
    series: [{ metric: "cpu_percent", min: [92, 93, 94, 95], mean: [93, 94, 95, 96], max: [94, 95, 96, 97] }],
  });
  expect((await api.get(`/v1/assets/${away}/health?source=device`)).body).toMatchObject({ code: "DeviceNotReachable" });
  const never = await control.asset(account);
  const none = { source: "service", interval_s: 1_800, at: [], series: [] };
  expect((await api.get(`/v1/assets/${never.uuid}/health`)).body).toEqual(none);
});

test("of a month comes from the service in at most 200 points, hours where the rows are old, also of a connected device", async () => {
  const away = await awayWithRows(30);
  await control.store.health.condenseDays(Math.floor(NOW / DAY) - 14, 1_000);
  const { body } = await api.get(`/v1/assets/${away}/health?from=${NOW - 30 * DAY}&points=200`);
  const { interval_s: interval, at } = body as { interval_s: number; at: number[] };
  expect([body["source"], interval % HOUR]).toEqual(["service", 0]);
  expect(at.length).toBeGreaterThan(100);
  expect(at.length).toBeLessThanOrEqual(200);
  expect((await api.get(`/v1/assets/${away}/health?from=${NOW - 400 * DAY}&points=200`)).body["at"]).not.toEqual([]);
  const asked = await api.get(`/v1/assets/${uuid}/health?from=${NOW - 48 * HOUR - 1}`);
  expect(asked.body).toMatchObject({ source: "service", at: [] });
  expect((await api.get(`/v1/assets/${uuid}/health?source=service`)).body).toMatchObject({ source: "service" });
});

test("can be had as a table: a row for each point, and what apps used in one of its own", async () => {
  const away = await control.asset(account);
  const used = { cpu_percent: [0.1, 0.2], memory_bytes: [65_536, 131_072], restarts: 2 } as const;
  const from = NOW - HOUR;
  await control.store.health.addRows(
    away.uuid,
    [
      { at: from, spreads: { cpu_percent: [1, 2, 3], temperature_celsius: [-5, 4, 50] } },
      { at: from + 1_800, spreads: { cpu_percent: [4, 5, 6] } },
    ],
    [{ at: from, apps: new Map([["web", used]]) }],
  );
  const path = `/v1/assets/${away.uuid}/health?from=${from}`;
  const text = async (query: string, accept = "*/*") => {
    const headers = { "X-API-Key": account.apiKey, Accept: accept };
    const response = await fetch(`${control.url}${path}${query}`, { headers });
    return { type: response.headers.get("content-type"), rows: (await response.text()).split("\r\n") };
  };
  const table = await text("&format=csv");
  expect(table.type).toBe("text/csv; charset=utf-8");
  const cells = table.rows.map((row) => row.split(","));
  expect(cells[0]?.slice(0, 5)).toEqual(["from", "to", "cpu_percent_min", "cpu_percent_mean", "cpu_percent_max"]);
  const at = cells[0]?.indexOf("temperature_celsius_min") ?? 0;
  expect(cells.slice(1).map((row) => row.slice(0, 5).concat(row.slice(at, at + 3)))).toEqual([
    ["2026-11-20T11:00:00Z", "2026-11-20T11:15:00Z", "1", "2", "3", "-5", "4", "50"],
    ["2026-11-20T11:30:00Z", "2026-11-20T11:45:00Z", "4", "5", "6", "", "", ""],
    [""],
  ]);
  expect(new Set(cells.slice(0, -1).map((row) => row.length))).toEqual(new Set([41]));
  const apps = await text("&apps=true", "text/csv");
  expect(apps.rows).toEqual([
    "from,to,app,cpu_percent_mean,cpu_percent_max,memory_bytes_mean,memory_bytes_max,restarts",
    "2026-11-20T11:00:00Z,2026-11-20T12:00:00Z,web,0.1,0.2,65536,131072,2",
    "",
  ]);
  expect((await text("", "text/csv")).rows).toEqual(table.rows);
  expect((await text("&format=json", "text/csv")).type).toMatch(/json/);
  const never = await control.asset(account);
  const none = await fetch(`${control.url}/v1/assets/${never.uuid}/health?format=csv`, {
    headers: { "X-API-Key": account.apiKey },
  });
  expect((await none.text()).split("\r\n")).toEqual([table.rows[0], ""]);
});
