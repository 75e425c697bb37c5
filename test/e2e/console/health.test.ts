import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { HealthRow } from "../../../src/protocol/link/health-points.ts";
import { HealthMessageWriter } from "../../../src/protocol/link/health-message.ts";
import { type ConsoleAlerts, startConsoleAlerts } from "../../support/console/console-alerts.ts";
import { lookAtAll } from "../../support/console/look-at.ts";

const DESK = { width: 1440, height: 900 };
const QUARTER_S = 900;
/** Rows of a day, of which the device has measured nothing in two hours. */
const ROWS = 96;
const GAP = { from: 40, to: 48 };

let alerts: ConsoleAlerts;
beforeAll(async () => {
  alerts = await startConsoleAlerts();
});
afterAll(() => alerts[Symbol.asyncDispose]());
afterEach(async ({ task }) => {
  const { page } = alerts.tab;
  if (task.result?.state === "fail") console.log(`${page.url()}\n${await page.locator("body").innerText()}`);
});

/** What a device answers that is asked. */
const HOUR_OF_DEVICE = {
  source: "device",
  interval_s: 300,
  at: [Math.floor(Date.now() / 1000) - 600],
  series: [{ metric: "cpu_percent", min: [5], mean: [97], max: [100] }],
};

/** What a device has measured until now. */
function someRows(): HealthRow[] {
  const end = Math.floor(Date.now() / 1000 / QUARTER_S) * QUARTER_S;
  return Array.from({ length: ROWS }, (_, index): HealthRow => {
    const wave = Math.round(10 * Math.sin(index / 8));
    return {
      at: end - (ROWS - index) * QUARTER_S,
      spreads: {
        cpu_percent: [5, 20 + wave, 60],
        memory_percent: [40, 44, 48],
        disk_percent: [61, 61, 61],
        temperature_celsius: [40, 58 + wave, 71],
        signal_percent: [30, 55, 80],
      },
    };
  }).filter((_row, index) => index < GAP.from || index >= GAP.to);
}

it("an asset's health is drawn with its gaps, and is a table, too", async () => {
  const { page, complaints } = alerts.tab;
  const { uuid, device } = await alerts.connect("Pump house 1");
  device.send(Buffer.from(new HealthMessageWriter().write({ rows: someRows(), apps: [] })));
  const path = `/v1/assets/${uuid}/health?source=service`;
  await expect.poll(async () => ((await alerts.send("GET", path))["at"] as unknown[]).length).toBeGreaterThan(0);
  await page.setViewportSize(DESK);
  await page.goto(`${alerts.rig.control.url}/assets/${uuid}?tab=health`);
  const charts = page.getByRole("list").filter({ hasText: "Temperature" }).getByRole("listitem");
  await charts.first().waitFor();
  expect(await charts.count()).toBe(5);
  // Two runs, with the gap between them.
  const line = await charts.filter({ hasText: "Processors" }).locator("path").last().getAttribute("d");
  expect(line?.match(/M/g)).toHaveLength(2);
  await page.getByText("Uptime").waitFor();
  await page.getByText("value, of 15 minutes each.").waitFor();
  expect(await lookAtAll(page, "health-day")).toEqual([]);
  await page.setViewportSize(DESK);
  await page.getByRole("region", { name: "Health" }).getByRole("button", { name: "Show as a table" }).click();
  await page.getByRole("table", { name: "Health" }).getByRole("row").nth(1).getByText(/°C/).waitFor();
  await page.getByRole("region", { name: "Connectivity" }).getByRole("button", { name: "Show as a table" }).click();
  await page.getByRole("table", { name: "Connectivity" }).getByText("connected", { exact: true }).waitFor();
  expect(await lookAtAll(page, "health-table")).toEqual([]);
  await page.setViewportSize(DESK);
  const asked = page.waitForRequest((request) => request.url().includes("/health?"));
  await page.getByRole("button", { name: "Month" }).click();
  const query = new URL((await asked).url()).searchParams;
  expect(Number(query.get("to")) - Number(query.get("from"))).toBe(30 * 86_400);
  expect([query.get("points"), query.get("source")]).toEqual(["200", "service"]);
  await page.getByRole("button", { name: "Month", pressed: true }).waitFor();
  expect(await lookAtAll(page, "health-month")).toEqual([]);
  // What an incident is about is not at the service yet.
  await page.setViewportSize(DESK);
  await page.route(/source=device/, (route) => route.fulfill({ json: HOUR_OF_DEVICE }));
  await page.getByRole("button", { name: "Hour" }).click();
  await page.getByRole("button", { name: "Ask the device" }).click();
  await page.getByText("value, of 5 minutes each.").waitFor();
  expect(await page.getByRole("button", { name: "Ask the device" }).count()).toBe(0);
  await device[Symbol.asyncDispose]();
  expect(complaints).toEqual([]);
});

it("an asset without a device says that nothing is on record", async () => {
  const { page } = alerts.tab;
  const { uuid } = await alerts.send("POST", "/v1/assets", { name: "Spare", serial_number: "spare-1" });
  await page.goto(`${alerts.rig.control.url}/assets/${String(uuid)}?tab=health`);
  await page.getByText("The device has not been connected yet.").waitFor();
  await page.getByText("The device has sent nothing in this time.").waitFor();
});
