import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { startReceiver } from "../../support/alerts/receiver.ts";
import { lookAtAll } from "../../support/console/look-at.ts";
import { ADMIN, type ConsoleRig, type OpenedTab, startConsole } from "../../support/console/opened-console.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const DESK = { width: 1440, height: 900 };
/** Devices that are lost together. */
const LOST = ["Pump house 1", "Pump house 2", "Pump house 3", "Pump house 4", "Pump house 5"];

const owned = new AsyncDisposableStack();
let rig: ConsoleRig;
let tab: OpenedTab;
let page: Page;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let devices: FakeDevice[] = [];
beforeAll(async () => {
  receiver = owned.use(await startReceiver());
  rig = owned.use(await startConsole());
  const directory = owned.use(await tempDir());
  // The links of messages have the address of the service, which has a free port since its first start.
  const config = join(directory.path, "config.json");
  const allowed = { alert_channels: { allow_private: [receiver.host] } };
  await writeFile(config, JSON.stringify({ public_url: rig.control.url, ...allowed }), { mode: 0o600 });
  rig.control.useFlags("--config", config);
  await rig.control.stop();
  await rig.control.start();
  tab = owned.use(await rig.openSignedIn());
  page = tab.page;
});
afterAll(() => owned.disposeAsync());
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.log(`${page.url()}\n${await page.locator("body").innerText()}`);
});

/** Performs a request with the session of the first admin. */
async function send(method: string, path: string, data?: unknown): Promise<Record<string, unknown>> {
  const headers = { origin: rig.control.url };
  const response = await tab.context.request.fetch(rig.control.url + path, {
    method,
    headers,
    ...(data !== undefined && { data }),
  });
  const text = await response.text();
  if (!response.ok()) throw new Error(`${method} ${path}: ${response.status()} ${text}`);
  return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
}

const open = async (path: string): Promise<void> => {
  await page.setViewportSize(DESK);
  await page.goto(rig.control.url + path);
};
const bell = () => page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^Alerts/ });
const rows = (name: string) => page.getByRole("table", { name }).getByRole("row");

it("an account without alerts sees what fires one, and that no person would be notified", async () => {
  await open("/alerts");
  await page.getByText("No open alerts.").waitFor();
  await page.getByText("No person would be notified").waitFor();
  expect(await bell().textContent()).toBe("Alerts");
  expect(await lookAtAll(page, "alerts-none")).toEqual([]);
  await page.setViewportSize(DESK);
  for (const [name, text] of [
    ["History", "No alert has been resolved yet."],
    ["Silences", "Nothing is silenced."],
    ["Messages sent", "Nothing was sent."],
  ] as const) {
    await page.getByRole("link", { name }).click();
    await page.getByText(text).waitFor();
  }
});

it("devices that are lost together are one group, which the bell counts without a reload", async () => {
  await open("/alerts");
  const channels = { ops: { kind: "webhook", url: receiver.url } };
  const rules = [{ condition: "device_offline", for_s: 0 }];
  await send("PUT", "/v1/alert-settings", { rules, channels, routes: { all: { channels: ["ops"] } } });
  const { account } = (await send("GET", "/v1/session")) as { account: { id: string } };
  for (const name of LOST) {
    const options = ["--account", account.id, "--name", name, "--serial-number", name.replaceAll(" ", "-")];
    const { device_token: token = "" } = await rig.control.administer("asset", "add", ...options);
    devices.push(await FakeDevice.connect(`${rig.control.url.replace("http", "ws")}/v1/agent`, token));
  }
  for (const device of devices) await device[Symbol.asyncDispose]();
  devices = [];
  await bell().getByText("5 open, 5 not acknowledged").waitFor({ state: "attached" });
  await rows("Open alerts").filter({ hasText: "5 assets" }).getByText("Pump house 1").waitFor();
  expect(await lookAtAll(page, "alerts-open")).toEqual([]);
});

it("a message leads through signing in to its group, and only the button acknowledges it", async () => {
  await waitFor("the message", () => receiver.received.length > 0);
  const data = receiver.received[0]?.data ?? {};
  const link = String(data["url"]);
  expect(link).toBe(`${rig.control.url}/alerts?group=${String(data["group_id"])}`);
  await using stranger = await rig.open({ viewport: { width: 390, height: 800 } });
  const { page: phone } = stranger;
  await phone.goto(link);
  await phone.getByLabel("Email address").fill(ADMIN.email);
  await phone.getByLabel("Password", { exact: true }).fill(ADMIN.password);
  await phone.getByRole("button", { name: "Sign in" }).click();
  await phone.getByRole("heading", { name: "Device offline: 5 assets" }).waitFor();
  expect(phone.url()).toBe(link);
  // The link was opened, as by a scanner of mails: nothing is acknowledged.
  expect(await send("GET", "/v1/alerts?limit=1")).toMatchObject({ firing: 5, unacknowledged: 5 });
  expect(await lookAtAll(phone, "alerts-message")).toEqual([]);
  await phone.getByRole("button", { name: "Acknowledge all" }).click();
  await phone.getByText("These alerts are acknowledged.").waitFor();
  expect(await send("GET", "/v1/alerts?limit=1")).toMatchObject({ firing: 5, unacknowledged: 0 });
  // The other page knows it from the stream of the account.
  await bell().getByText("5 open, all acknowledged").waitFor({ state: "attached" });
  await rows("Open alerts").getByText(`by ${ADMIN.name}`).waitFor();
  expect(stranger.complaints).toEqual([]);
});

it("alerts are silenced with a reason and an end, and the silence is ended", async () => {
  await open("/alerts");
  await page.getByRole("button", { name: "Silence Device offline" }).click();
  const dialog = page.getByRole("dialog", { name: "Silence alerts" });
  await dialog.getByLabel("Reason").fill("Works at the pumps until Thursday");
  await dialog.getByLabel("For how long").selectOption("a day");
  expect(await lookAtAll(page, "alerts-silence")).toEqual([]);
  await page.setViewportSize(DESK);
  await dialog.getByRole("button", { name: "Silence", exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
  const { silences } = await send("GET", "/v1/silences");
  expect(silences).toMatchObject([{ conditions: ["device_offline"], selector: "*", created_by: ADMIN.name }]);
  await page.getByRole("link", { name: "Silences" }).click();
  const row = rows("Silences").filter({ hasText: "Works at the pumps until Thursday" });
  await row.waitFor();
  expect(await lookAtAll(page, "alerts-silences")).toEqual([]);
  await page.setViewportSize(DESK);
  await row.getByRole("button", { name: /^End now/ }).click();
  await page.getByText("Nothing is silenced.").waitFor();
});

it("the page of an asset shows its open alerts, and what was sent has its answer", async () => {
  await open("/alerts");
  await page.getByRole("button", { name: "Show all 5" }).click();
  await page.getByRole("link", { name: "Pump house 4" }).click();
  await page.getByRole("heading", { name: "Open alerts" }).waitFor();
  await rows("Open alerts").locator("strong").waitFor();
  expect(await lookAtAll(page, "alerts-asset")).toEqual([]);
  await open("/alerts?view=sent");
  await rows("Messages").filter({ hasText: "Device offline: 5 assets" }).getByText("200 thank you").waitFor();
  expect(await lookAtAll(page, "alerts-sent")).toEqual([]);
  expect(tab.complaints).toEqual([]);
});
