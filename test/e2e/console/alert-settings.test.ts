import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type ConsoleAlerts, startConsoleAlerts } from "../../support/console/console-alerts.ts";
import { lookAtAll } from "../../support/console/look-at.ts";

const DESK = { width: 1440, height: 900 };

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
const row = (table: string, text: string) =>
  alerts.tab.page.getByRole("table", { name: table }).getByRole("row").filter({ hasText: text });
const dialog = (name: string) => alerts.tab.page.getByRole("dialog", { name });
/** Buttons whose first word is wider than they are. */
const cutButtons = () =>
  alerts.tab.page.evaluate<string[]>(`[...document.querySelectorAll("main button")].filter((button) => {
    const word = document.createTreeWalker(button, NodeFilter.SHOW_TEXT).nextNode();
    const range = document.createRange();
    range.selectNodeContents(word ?? button);
    return range.getBoundingClientRect().right > button.getBoundingClientRect().right - 4;
  }).map(({ textContent }) => textContent)`);

it("a webhook is added, whose secret is shown once, and its test says what the other side answered", async () => {
  const { page } = alerts.tab;
  await open("/alerts");
  await page.getByRole("link", { name: "Set one up" }).click();
  await page.getByText("There is no route yet").waitFor();
  expect(await lookAtAll(page, "alert-settings-none")).toEqual([]);
  await page.setViewportSize(DESK);
  await page.getByRole("button", { name: "Add a channel" }).click();
  const adding = dialog("Add a channel");
  await adding.getByLabel("Name").fill("ops");
  await adding.getByLabel("Kind").selectOption("webhook");
  await adding.getByLabel("Address").fill(alerts.receiver.url);
  expect(await lookAtAll(page, "alert-channel")).toEqual([]);
  await adding.getByRole("button", { name: "Add", exact: true }).click();
  expect(await adding.locator("code").textContent()).toMatch(/^whsec_/);
  await adding.getByRole("button", { name: "Done" }).click();
  await row("Channels", "ops").getByText("in use").waitFor();
  await row("Channels", "ops").getByRole("button", { name: "Test ops" }).click();
  await row("Channels", "ops").getByText("arrived: 200 thank you").waitFor();
  expect(alerts.receiver.received).toMatchObject([{ type: "alert.test" }]);
});

it("a route is added with quiet hours, and a rule with another limit", async () => {
  const { page } = alerts.tab;
  await page.getByRole("button", { name: "Add a route" }).click();
  const route = dialog("Add a route");
  await route.getByLabel("Name").fill("night");
  await route.getByLabel("ops", { exact: true }).check();
  await route.getByLabel("info", { exact: true }).uncheck();
  await route.getByLabel("Repeat").selectOption("every 4 h");
  await route.getByLabel(/^Quiet hours/).check();
  await route.getByLabel("Time zone").fill("Europe/Berlin");
  expect(await lookAtAll(page, "alert-route")).toEqual([]);
  await page.setViewportSize(DESK);
  await route.getByRole("button", { name: "Add", exact: true }).click();
  await row("Routes", "night")
    .getByText("repeated every 4 h; quiet from 20:00 to 07:00 Europe/Berlin, except critical")
    .waitFor();
  await page.getByRole("button", { name: "Add a rule" }).click();
  const rule = dialog("Add a rule");
  await rule.getByLabel("Condition").selectOption("Temperature high");
  await rule.getByLabel("Above, in °C").fill("95");
  expect(await lookAtAll(page, "alert-rule")).toEqual([]);
  await page.setViewportSize(DESK);
  await rule.getByRole("button", { name: "Add", exact: true }).click();
  await row("Rules", "Temperature high").getByText("above 95 °C").waitFor();
  expect(await lookAtAll(page, "alert-settings")).toEqual([]);
  // Beside the answer to the test, too.
  expect(await cutButtons()).toEqual([]);
  const quiet = { from: "20:00", to: "07:00", time_zone: "Europe/Berlin", except_critical: true };
  expect(await alerts.send("GET", "/v1/alert-settings")).toMatchObject({
    rules: [{ condition: "temperature_high", above: 95 }],
    routes: { night: { channels: ["ops"], severities: ["critical", "warning"], repeat_s: 14_400, quiet_hours: quiet } },
    channels: { ops: { kind: "webhook" } },
  });
});

it("a change that comes after one of another person is not saved, and says so", async () => {
  const { page } = alerts.tab;
  await open("/alerts/settings");
  await row("Routes", "night").getByRole("button", { name: "Change night" }).click();
  const changing = dialog("Change the route night");
  await changing.getByLabel("Assets").fill("site=north");
  const { rules, routes, channels } = await alerts.send("GET", "/v1/alert-settings");
  await alerts.send("PUT", "/v1/alert-settings", { rules: [], routes, channels });
  expect(rules).toHaveLength(1);
  await changing.getByRole("button", { name: "Save" }).click();
  await changing.getByText("Another person has changed these settings").waitFor();
  expect(await lookAtAll(page, "alert-settings-conflict")).toEqual([]);
  await page.setViewportSize(DESK);
  // The page has the settings as they are now: saved again, the other change stays.
  await row("Rules", "Temperature high").waitFor({ state: "detached" });
  await changing.getByRole("button", { name: "Save" }).click();
  await changing.waitFor({ state: "hidden" });
  expect(await alerts.send("GET", "/v1/alert-settings")).toMatchObject({
    rules: [],
    routes: { night: { selector: "site=north" } },
  });
});

it("a channel is removed with the routes that lead nowhere else", async () => {
  const { page, complaints } = { ...alerts.tab };
  await row("Channels", "ops").getByRole("button", { name: "Remove ops" }).click();
  const removing = dialog("Remove the channel ops?");
  await removing.getByText("Removed with it, since they lead nowhere else: night.").waitFor();
  await removing.getByRole("button", { name: "Remove" }).click();
  await page.getByText("There is no channel yet.").waitFor();
  expect(await alerts.send("GET", "/v1/alert-settings")).toMatchObject({ routes: {}, channels: {} });
  expect(complaints).toEqual([]);
});

it("who may not change the settings sees why, and who may not acknowledge sees no button", async () => {
  await using viewer = await alerts.openAs("viewer");
  const { page } = viewer;
  await page.goto(`${alerts.rig.control.url}/alerts/settings`);
  await page.getByText("Your role does not permit this.").waitFor();
  await page.getByText("settings.manage").waitFor();
  await page.getByRole("link", { name: "Open", exact: true }).click();
  await page.getByText("Admins of the account decide who is notified.").waitFor();
  await page.getByRole("link", { name: "Messages sent" }).click();
  await page.getByText("alerts.manage").waitFor();
  expect(viewer.complaints).toEqual([]);
});
