import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type ConsoleAlerts, startConsoleAlerts } from "../../support/console/console-alerts.ts";
import { lookAtAll } from "../../support/console/look-at.ts";
import { ADMIN } from "../../support/console/opened-console.ts";
import { waitFor } from "../../support/wait-for.ts";

const DESK = { width: 1440, height: 900 };
/** Devices that are lost together. */
const LOST = ["Pump house 1", "Pump house 2", "Pump house 3", "Pump house 4", "Pump house 5"];

let alerts: ConsoleAlerts;
beforeAll(async () => {
  alerts = await startConsoleAlerts();
});
afterAll(() => alerts[Symbol.asyncDispose]());
afterEach(async ({ task }) => {
  const { page } = alerts.tab;
  if (task.result?.state === "fail") console.log(`${page.url()}\n${await page.locator("body").innerText()}`);
});

const open = async (path: string): Promise<void> => {
  await alerts.tab.page.setViewportSize(DESK);
  await alerts.tab.page.goto(alerts.rig.control.url + path);
};
const bell = () => alerts.tab.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^Alerts/ });
const rows = (name: string) => alerts.tab.page.getByRole("table", { name }).getByRole("row");

it("an account without alerts sees what fires one, and that no person would be notified", async () => {
  const {
    tab: { page },
  } = alerts;
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
  const {
    send,
    receiver,
    connect,
    tab: { page },
  } = alerts;
  await open("/alerts");
  for (const name of LOST) await (await connect(name)).device[Symbol.asyncDispose]();
  await waitFor(
    "the devices to be gone",
    async () => (await send("GET", "/v1/overview"))["not_connected"] === LOST.length,
  );
  // From here on the condition holds for all of them.
  const channels = { ops: { kind: "webhook", url: receiver.url } };
  const rules = [{ condition: "device_offline", for_s: 0 }];
  await send("PUT", "/v1/alert-settings", { rules, channels, routes: { all: { channels: ["ops"] } } });
  await bell().getByText("5 open, 5 not acknowledged").waitFor({ state: "attached" });
  await rows("Open alerts").filter({ hasText: "5 assets" }).getByText("Pump house 1").waitFor();
  expect(await lookAtAll(page, "alerts-open")).toEqual([]);
});

it("a message leads through signing in to its group, and only the button acknowledges it", async () => {
  const { send, receiver, rig } = alerts;
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
  const {
    send,
    tab: { page },
  } = alerts;
  await open("/alerts");
  await page.getByRole("button", { name: "Silence Device offline" }).click();
  const dialog = page.getByRole("dialog", { name: "Silence alerts" });
  await dialog.getByLabel("Assets").fill("*");
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

it("the pages of the account and of an asset show open alerts, and what was sent has its answer", async () => {
  const {
    tab: { page, complaints },
  } = alerts;
  await open("/alerts");
  await page.getByRole("button", { name: "Show all 5" }).click();
  await page.getByRole("link", { name: "Pump house 4" }).click();
  await page.getByRole("heading", { name: "Open alerts" }).waitFor();
  await rows("Open alerts").locator("strong").waitFor();
  expect(await lookAtAll(page, "alerts-asset")).toEqual([]);
  await page.setViewportSize(DESK);
  // Of the alert, for this asset and condition alone; of the page, for all that is the matter with the asset.
  const { send } = alerts;
  const dialog = page.getByRole("dialog", { name: "Silence alerts" });
  for (const [button, conditions] of [
    ["Silence Device offline", ["device_offline"]],
    ["Silence alerts", null],
  ] as const) {
    await page.getByRole("button", { name: button }).click();
    await dialog.getByText("Only Pump house 4, not other assets").waitFor();
    await dialog.getByLabel("Reason").fill(`Works: ${button}`);
    expect(await lookAtAll(page, "alerts-silence-asset")).toEqual([]);
    await page.setViewportSize(DESK);
    await dialog.getByRole("button", { name: "Silence", exact: true }).click();
    await dialog.waitFor({ state: "hidden" });
    await page.getByText(`Works: ${button}`).first().waitFor();
    const { silences } = await send("GET", "/v1/silences");
    expect(silences).toMatchObject([{ conditions, asset: { name: "Pump house 4" } }]);
    await page.getByRole("button", { name: "End now" }).click();
    await page.getByText("Alerts of this asset are silenced").waitFor({ state: "detached" });
  }
  await open("/overview");
  await rows("Open alerts").filter({ hasText: "5 assets" }).getByText("Device offline").first().waitFor();
  expect(await lookAtAll(page, "alerts-overview")).toEqual([]);
  await open("/alerts?view=sent");
  await rows("Messages").filter({ hasText: "Device offline: 5 assets" }).getByText("200 thank you").waitFor();
  expect(await lookAtAll(page, "alerts-sent")).toEqual([]);
  expect(complaints).toEqual([]);
});
