import { afterAll, beforeAll, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { register, someAsset } from "../../contract/control-plane-store/harness.ts";
import { someAudit } from "../../support/control-plane/people.ts";

const NOW = Date.parse("2026-11-20T12:00:00Z") / 1000;

let control: ControlPlane;
let account: TestAccount;
beforeAll(async () => {
  control = await startControlPlane({ clock: new FakeClock(NOW * 1000) });
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

async function scrape(query = "", { apiKey } = account) {
  const response = await fetch(`${control.url}/v1/metrics/devices${query}`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  });
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

/** The samples of a metric, without comments. */
const samples = (text: string, name: string): string[] =>
  text.split("\n").filter((line) => line.startsWith(`edge_device_${name}{`));

test("has each device's newest figures, each metric once with its type, and nothing of other accounts", async () => {
  const { uuid, deviceToken, asset } = await control.asset(account);
  await using _device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stranger = await control.account();
  const theirs = await control.asset(stranger);
  await control.store.health.addRows(uuid, [
    { at: NOW - 1_800, spreads: { cpu_percent: [1, 9, 20] } },
    { at: NOW - 900, spreads: { cpu_percent: [1, 7, 20], temperature_celsius: [-6, -5, 40] } },
  ]);
  await control.store.health.addRows(theirs.uuid, [{ at: NOW - 900, spreads: { cpu_percent: [3, 3, 3] } }]);
  const { status, type, text } = await scrape();
  expect([status, type]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  const labels = `{asset="${asset.serialNumber}"}`;
  expect(samples(text, "cpu_usage_ratio")).toEqual([`edge_device_cpu_usage_ratio${labels} 0.07`]);
  expect(samples(text, "temperature_celsius")).toEqual([`edge_device_temperature_celsius${labels} -5`]);
  expect(samples(text, "disk_usage_ratio")).toEqual([]);
  expect(samples(text, "connected")).toEqual([`edge_device_connected${labels} 1`]);
  expect(samples(text, "health_timestamp_seconds")).toEqual([`edge_device_health_timestamp_seconds${labels} ${NOW}`]);
  expect(samples((await scrape("", stranger)).text, "cpu_usage_ratio")).toEqual([
    `edge_device_cpu_usage_ratio{asset="${theirs.asset.serialNumber}"} 0.03`,
  ]);
  const lines = text.trimEnd().split("\n");
  for (const line of lines)
    expect(line).toMatch(/^(?:# (?:HELP|TYPE) edge_(?:device|app)_\w+ \S.*|edge_(?:device|app)_\w+\{.*\} -?[\d.]+)$/);
  const types = lines.filter((line) => line.startsWith("# TYPE"));
  expect(new Set(types).size).toBe(types.length);
  expect(text.endsWith("\n")).toBe(true);
});

test("a device that is connected was last seen now", async () => {
  const clock = new FakeClock(NOW * 1000);
  await using later = await startControlPlane({ clock });
  const owner = await later.account();
  const { deviceToken } = await later.asset(owner);
  await using _device = await FakeDevice.connect(later.agentUrl, deviceToken);
  await clock.advance(20_000);
  const headers = { "X-API-Key": owner.apiKey };
  const text = await (await fetch(`${later.url}/v1/metrics/devices`, { headers })).text();
  expect(samples(text, "last_seen_timestamp_seconds")).toEqual([expect.stringMatching(new RegExp(` ${NOW + 20}$`))]);
});

test("has what the apps of each device used in its newest hour", async () => {
  const mine = await control.account();
  const { uuid, asset } = await control.asset(mine);
  await control.store.health.addRows(
    uuid,
    [{ at: NOW - 900, spreads: {} }],
    [
      {
        at: NOW - 3_600,
        apps: new Map([
          ["job", { memory_bytes: [65_536, 65_536], restarts: 0 }],
          ["web", { cpu_percent: [0.8, 1.6], memory_bytes: [65_536, 131_072], restarts: 3 }],
        ]),
      },
    ],
  );
  const { text } = await scrape("", mine);
  const labels = (app: string): string => `{asset="${asset.serialNumber}",app="${app}"}`;
  expect(text.split("\n").filter((line) => line.startsWith("edge_app_"))).toEqual([
    `edge_app_cpu_usage_ratio${labels("web")} 0.008`,
    `edge_app_memory_usage_bytes${labels("job")} 65536`,
    `edge_app_memory_usage_bytes${labels("web")} 65536`,
    `edge_app_memory_peak_bytes${labels("job")} 65536`,
    `edge_app_memory_peak_bytes${labels("web")} 131072`,
    `edge_app_restarts${labels("job")} 0`,
    `edge_app_restarts${labels("web")} 3`,
  ]);
  expect(samples(text, "apps_timestamp_seconds")).toEqual([
    `edge_device_apps_timestamp_seconds{asset="${asset.serialNumber}"} ${NOW}`,
  ]);
});

test("has the assets of a selector, and names that cannot end a label or a line", async () => {
  const mine = await control.account();
  const { uuid } = await register(
    control.store,
    someAsset({ accountId: mine.accountId, serialNumber: 'S"1\\', name: 'a"} 1\nedge_device_connected{asset="x"} 1' }),
  );
  await register(control.store, someAsset({ accountId: mine.accountId }));
  await control.store.assetSettings.changeTags(uuid, new Map([["role", "kiosk"]]), false, someAudit("asset.tagged"));
  const { text } = await scrape("?selector=role%3Dkiosk", mine);
  expect(samples(text, "info")).toEqual([
    `edge_device_info{asset="S\\"1\\\\",asset_id="${uuid}",name="a\\"} 1\\nedge_device_connected{asset=\\"x\\"} 1",type="gateway"} 1`,
  ]);
  expect(samples(text, "connected")).toEqual(['edge_device_connected{asset="S\\"1\\\\"} 0']);
  expect((await scrape("?selector=role%3Dnone", mine)).status).toBe(200);
  expect((await scrape("?selector=%21%21", mine)).status).toBe(422);
});

test("reads all pages of an account, in the order of registration", async () => {
  const mine = await control.account();
  const numbers = Array.from({ length: 1_201 }, (_, index) => `M-${String(index).padStart(5, "0")}`);
  for (const serialNumber of numbers)
    await register(control.store, someAsset({ accountId: mine.accountId, serialNumber }));
  const { text } = await scrape("", mine);
  expect(samples(text, "connected")).toEqual(numbers.map((number) => `edge_device_connected{asset="${number}"} 0`));
});
