import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { documented, fill, runPrinted } from "../../support/documentation.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import type { ListedUptime } from "../../../src/protocol/assets/connectivity.ts";
import { waitFor } from "../../support/wait-for.ts";

const at = (text: string): number => Date.parse(text) / 1000;
const NOW = at("2026-11-20T12:00:00Z");
const HOUR = 3_600;

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
let asset: Awaited<ReturnType<ControlPlane["asset"]>>;
let sessions = 0;
beforeAll(async () => {
  control = await startControlPlane({ clock: new FakeClock(NOW * 1000) });
  account = await control.account();
  api = apiClient(control, account);
  asset = await control.asset(account);
  await connect(asset.uuid, NOW - 50 * HOUR, NOW - 26 * HOUR);
  await connect(asset.uuid, NOW - 14 * HOUR, NOW - 2 * HOUR, "closed");
  await connect(asset.uuid, NOW - HOUR);
});
afterAll(() => control[Symbol.asyncDispose]());

/** Connects a device at a time, and disconnects it. */
async function connect(assetUuid: string, from: number, to?: number, reason: "lost" | "closed" = "lost") {
  const { sessions: store } = control.store;
  const session = { assetUuid, sessionId: `s${++sessions}`, instanceId: "ins", protocol: 1, at: from };
  const { epoch = 0 } = (await store.open(session)) ?? {};
  if (to !== undefined) await store.close({ assetUuid, epoch }, to, reason);
}

async function text(path: string, accept?: string): Promise<{ readonly type: string | null; readonly text: string }> {
  const headers = { "X-API-Key": account.apiKey, ...(accept !== undefined && { Accept: accept }) };
  const response = await fetch(control.url + path, { headers });
  expect(response.status).toBe(200);
  return { type: response.headers.get("content-type"), text: await response.text() };
}

describe("connectivity of an asset", () => {
  const swallowed = { takeovers: 0, interruptions: 0, interrupted_s: 0, longest_interruption_s: 0 };
  const spans = [
    { state: "connected", from: NOW - HOUR, to: null, duration_s: HOUR, ...swallowed },
    { state: "disconnected", from: NOW - 2 * HOUR, to: NOW - HOUR, duration_s: HOUR, reason: "closed" },
    { state: "connected", from: NOW - 14 * HOUR, to: NOW - 2 * HOUR, duration_s: 12 * HOUR, ...swallowed },
    { state: "disconnected", from: NOW - 26 * HOUR, to: NOW - 14 * HOUR, duration_s: 12 * HOUR, reason: "lost" },
    { state: "connected", from: NOW - 50 * HOUR, to: NOW - 26 * HOUR, duration_s: 24 * HOUR, ...swallowed },
  ];

  test("is a timeline, the newest first, without what is not known", async () => {
    const { status, body } = await api.get(`/v1/assets/${asset.uuid}/connectivity`);
    expect(status).toBe(200);
    expect(body).toEqual({ asset_id: asset.uuid, from: NOW - 30 * 24 * HOUR, to: NOW, spans, next_cursor: null });
  });

  test("is the same in pages of any size, and has no page beyond the range", async () => {
    for (const limit of [1, 2, 3]) {
      const found: unknown[] = [];
      let cursor: unknown;
      do {
        const next = typeof cursor === "string" ? `&cursor=${cursor}` : "";
        const { body } = await api.get(
          `/v1/assets/${asset.uuid}/connectivity?limit=${limit}&from=${NOW - 49 * HOUR}&to=${NOW}${next}`,
        );
        found.push(...(body["spans"] as unknown[]));
        cursor = body["next_cursor"];
      } while (cursor !== null);
      expect(found).toEqual([...spans.slice(0, -1), { ...spans.at(-1), from: NOW - 49 * HOUR, duration_s: 23 * HOUR }]);
    }
  });

  test("can be had as a table, whatever its length", async () => {
    const path = `/v1/assets/${asset.uuid}/connectivity`;
    const { type, text: table } = await text(`${path}?format=csv&limit=1`);
    expect(type).toBe("text/csv; charset=utf-8");
    expect(table.split("\r\n").slice(0, 3)).toEqual([
      "state,from,to,duration_s,reason,takeovers,interruptions,interrupted_s",
      "connected,2026-11-20T11:00:00Z,,3600,,0,0,0",
      "disconnected,2026-11-20T10:00:00Z,2026-11-20T11:00:00Z,3600,closed,,,",
    ]);
    expect(table.split("\r\n")).toHaveLength(7);
    expect((await text(path, "text/csv")).text).toBe(table);
    expect((await text(path, "*/*")).type).toMatch(/json/);
    expect((await text(`${path}?format=json`, "text/csv")).type).toMatch(/json/);
  });

  test.each([
    ["from=5&to=5", "from"],
    [`from=${NOW + 5}`, "from"],
    [`from=${NOW - 401 * 24 * HOUR}`, "from"],
    ["cursor=AAAA", "cursor"],
    [`cursor=${Buffer.from(String(NOW + 9)).toString("base64url")}`, "cursor"],
    ["from=1e3", "from"],
    ["format=xml", "format"],
    ["limit=0", "limit"],
  ])("%s is refused", async (query, path) => {
    const { status, body } = await api.get(`/v1/assets/${asset.uuid}/connectivity?${query}`);
    expect(status).toBe(422);
    expect(body["details"]).toMatchObject({ issues: [{ path }] });
  });
});

test("uptime is given for the range and for each period, with the longest gap", async () => {
  const { body } = await api.get(`/v1/assets/${asset.uuid}/uptime?from=${NOW - 72 * HOUR}`);
  const figures = { known_s: 50 * HOUR, connected_s: 37 * HOUR, disconnections: 2, longest_gap_s: 12 * HOUR };
  expect(body["total"]).toEqual({ from: NOW - 72 * HOUR, to: NOW, ...figures, uptime_percent: 74 });
  const periods = body["periods"] as readonly Record<string, number>[];
  expect(periods.map(({ known_s, connected_s }) => [Number(known_s) / HOUR, Number(connected_s) / HOUR])).toEqual([
    [0, 0],
    [14, 14],
    [24, 12],
    [12, 11],
  ]);
  expect(periods[0]?.["uptime_percent"]).toBeNull();
  const weeks = await api.get(`/v1/assets/${asset.uuid}/uptime?per=week`);
  expect(weeks.body["periods"]).toHaveLength(5);
  const { text: table } = await text(`/v1/assets/${asset.uuid}/uptime?from=${NOW - 12 * HOUR}`, "text/csv");
  expect(table).toBe(
    "from,to,known_s,connected_s,uptime_percent,disconnections,longest_gap_s\r\n" +
      "2026-11-20T00:00:00Z,2026-11-20T12:00:00Z,43200,39600,91.66,1,3600\r\n",
  );
});

/** Those of which the most is known first. */
const sorted = (assets: unknown) =>
  (assets as readonly ListedUptime[]).toSorted(
    (one, other) => other.known_s - one.known_s || one.connected_s - other.connected_s,
  );

test("uptime of assets is found by selector and fleet, in pages, and a name is no formula in the table", async () => {
  const owner = await control.account();
  const client = apiClient(control, owner);
  const away = await control.asset(owner, { name: "=1+2" });
  const here = await control.asset(owner, { name: 'Pump "7"' });
  const never = await control.asset(owner);
  for (const { uuid } of [away, here]) await client.put(`/v1/assets/${uuid}/tags`, { site: "north" });
  await connect(away.uuid, NOW - 10 * HOUR, NOW - 5 * HOUR);
  await connect(here.uuid, NOW - 10 * HOUR);
  expect((await client.post("/v1/fleets", { name: "north", selector: "site=north", apps: ["web"] })).status).toBe(201);
  const query = `from=${NOW - 8 * HOUR}&to=${NOW}`;
  const bySelector = await client.get(`/v1/uptime?selector=site%3Dnorth&${query}`);
  expect(bySelector.body).toMatchObject({ from: NOW - 8 * HOUR, next_cursor: null });
  expect(sorted(bySelector.body["assets"])).toMatchObject([
    { asset_id: away.uuid, connected_s: 3 * HOUR, known_s: 8 * HOUR, uptime_percent: 37.5, longest_gap_s: 5 * HOUR },
    { asset_id: here.uuid, connected_s: 8 * HOUR, uptime_percent: 100, longest_gap_s: 0, disconnections: 0 },
  ]);
  expect((await client.get(`/v1/uptime?fleet=north&${query}`)).body).toEqual(bySelector.body);
  const first = await client.get(`/v1/uptime?limit=2&${query}`);
  const second = await client.get(`/v1/uptime?limit=2&${query}&cursor=${String(first.body["next_cursor"])}`);
  expect(second.body).toMatchObject({ next_cursor: null });
  const all = [first, second].flatMap(({ body }) => body["assets"] as readonly ListedUptime[]);
  expect(sorted(all)).toEqual([
    ...sorted(bySelector.body["assets"]),
    expect.objectContaining({ asset_id: never.uuid }),
  ]);
  expect(sorted(all)[2]).toMatchObject({ known_s: 0, uptime_percent: null, longest_gap_s: 0 });
  expect((await client.get("/v1/uptime?fleet=none")).body).toMatchObject({ code: "FleetNotFound" });
  expect((await client.get(`/v1/uptime?from=${NOW - 93 * 24 * HOUR}`)).status).toBe(422);
  const response = await fetch(`${control.url}/v1/uptime?limit=2&format=csv&${query}`, {
    headers: { "X-API-Key": owner.apiKey },
  });
  expect(response.headers.get("x-next-cursor")).toBe(first.body["next_cursor"]);
  await response.body?.cancel();
  const table = await fetch(`${control.url}/v1/uptime?format=csv&${query}`, { headers: { "X-API-Key": owner.apiKey } });
  expect(table.headers.get("x-next-cursor")).toBeNull();
  const rows = await table.text();
  expect(rows).toContain(`\r\n${away.uuid},'=1+2,`);
  expect(rows).toContain(`\r\n${here.uuid},"Pump ""7""",`);
});

test("the commands of the documentation run as they are printed", async () => {
  expect((await api.post("/v1/fleets", { name: "kiosks", selector: "role=kiosk", apps: ["web"] })).status).toBe(201);
  const opening = fill(documented("docs/api.md", "The HTTP API"), {
    "http://127.0.0.1:8080": control.url,
    "ek_…": account.apiKey,
  });
  const run = (text: string): Promise<string> =>
    runPrinted(fill(text, { "GW-2026-000123": asset.asset.serialNumber }), opening);
  const connectivity = await run(documented("docs/history.md", "Connectivity"));
  expect(connectivity).toContain('"reason":"closed"');
  expect(connectivity).toContain("state,from,to,duration_s");
  const uptime = await run(documented("docs/history.md", "Uptime"));
  expect(uptime).toContain('"uptime_percent":');
  expect(uptime).toContain("asset_id,asset_name,serial_number");
});

test.each([
  ["whose connection breaks", "lost", (device: FakeDevice) => device.cut()],
  ["of a service that stops", "service", () => control.restart()],
] as const)("a device %s is away for that reason", async (_what, reason, end) => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  await end(device);
  const endReason = await waitFor("the end of the interval", async () => {
    const [interval] = await control.store.connectivity.list(uuid, { from: 0, to: NOW + 1 }, 1);
    return interval?.endReason;
  });
  expect(endReason).toBe(reason);
});
