import type { Page, Route } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  type ConsoleSims,
  PRO_SIM,
  proSimOptions,
  startConsoleSims,
  SUPER_SIM,
  superSimOptions,
} from "../../support/console/console-sims.ts";
import { lookAtAll } from "../../support/console/look-at.ts";
import type { ConsoleRig, OpenedTab } from "../../support/console/opened-console.ts";

const DESK = { width: 1440, height: 900 };

const owned = new AsyncDisposableStack();
let sims: ConsoleSims;
let rig: ConsoleRig;
let tab: OpenedTab;
let page: Page;
let asset: string;
beforeAll(async () => {
  sims = owned.use(await startConsoleSims());
  rig = sims.rig;
  tab = owned.use(await rig.openSignedIn());
  page = tab.page;
  const account = await accountId();
  asset = await sims.addAsset(account, "Pump house 7", [...superSimOptions(), ...proSimOptions()]);
  const lost = { sid: `HS${"d1".repeat(16)}`, iccid: "8988307000007654321" };
  await sims.addAsset(account, "Pump house 8", superSimOptions(lost), false);
  await sims.addAsset(account, "Pump house 9", [], false);
});
afterAll(() => owned.disposeAsync());
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.log(`${page.url()}\n${await page.locator("body").innerText()}`);
});

async function accountId(): Promise<string> {
  const session = await tab.context.request.get(`${rig.control.url}/v1/session`);
  return ((await session.json()) as { account: { id: string } }).account.id;
}

const open = async (path: string): Promise<void> => {
  await page.setViewportSize(DESK);
  await page.goto(rig.control.url + path);
};
const card = (name: string, from = page) =>
  from.getByRole("listitem").filter({ has: from.getByRole("heading", { name, exact: true }) });
const rows = () => page.getByRole("table", { name: "SIMs" }).getByRole("row");

/**
 * Returns how many SIMs show how much of their allowance is used. Plans are judged about once an hour, and when one is asked for; as
 * long as they last, that is no event.
 */
async function usesShown(): Promise<number> {
  await tab.context.request.get(`${rig.control.url}/v1/assets/${asset}/sims/supersim/allowance`);
  await page.reload();
  await rows().filter({ hasText: SUPER_SIM.iccid }).waitFor();
  return page.getByText("of 5.0 GB used this month").count();
}

it("lists all SIMs with what their operators say, those that are lost too, and filters them by type", async () => {
  await open("/sims");
  // The service's first reading comes by itself, and the page follows it.
  await rows().filter({ hasText: SUPER_SIM.iccid }).getByText("ready").waitFor();
  await rows().filter({ hasText: PRO_SIM.iccid }).getByText("active", { exact: true }).waitFor();
  const lost = rows().filter({ hasText: "Pump house 8" });
  await lost.getByText("lost: the operator did not know it").waitFor();
  await expect.poll(usesShown, { interval: 1000 }).toBe(1);
  await expect.poll(() => rows().count()).toBe(1 + 3);
  expect(await lookAtAll(page, "sims")).toEqual([]);
  await page.setViewportSize(DESK);
  await page.getByLabel("Type").selectOption("PRO SIM");
  await page.waitForURL(/type=prosim/);
  await expect.poll(() => rows().count()).toBe(1 + 1);
  await rows().getByRole("link", { name: "Pump house 7" }).click();
  await page.getByRole("heading", { name: "PRO SIM" }).waitFor();
  expect(tab.complaints).toEqual([]);
});

it("shows the operators' usage beside the agent's, with the difference in words, and the same in a table", async () => {
  await open(`/assets/${asset}?tab=sims&period=30d`);
  await page.getByText("by the operator's count").first().waitFor();
  await page.getByText(/On the 30 days that both counted, .* and the overhead of the transport/).waitFor();
  // Eight days ago the agent counted more than both operators: that is final.
  await page.getByText("The agent alone counted more than the operator on 1 day.").waitFor();
  await page.locator("canvas").waitFor();
  await page.getByText("As a table").click();
  const table = page.getByRole("table").filter({ hasText: "Device's interfaces" });
  await expect.poll(() => table.getByRole("row").count()).toBe(1 + 30);
  expect(await table.getByRole("columnheader").allTextContents()).toEqual([
    "Day (UTC)",
    "Super SIM",
    "PRO SIM",
    "Agent",
    "Device's interfaces",
  ]);
  await page.getByText("As a table").click();
  expect(await lookAtAll(page, "asset-sims-usage")).toEqual([]);
  await page.setViewportSize(DESK);
  await page.getByLabel("Period (UTC)").selectOption("Last 7 days");
  await page.waitForURL(/tab=sims&period=7d/);
  await page.getByText(/On the 7 days that both counted/).waitFor();
  expect(await page.getByText("The agent alone counted more").count()).toBe(0);
  expect(tab.complaints).toEqual([]);
});

it("says how old the figures are while the operator does not answer", async () => {
  const usages = /\/sims\/supersim\/usages/;
  // The service leaves an operator alone for a quarter of an hour, so that an answer of the test's own has to be as old.
  await page.route(usages, async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as { as_of: number };
    await route.fulfill({ response, json: { ...body, as_of: body.as_of - 3600 } });
  });
  await open(`/assets/${asset}?tab=sims`);
  await page.getByText(/Figures of .*: the operator has said nothing newer\./).waitFor();
  expect(await page.getByText(/^Figures of/).count()).toBe(1);
  expect(await lookAtAll(page, "asset-sims-away")).toEqual([]);
  await page.unroute(usages);
});

it("shows everything else where the chart could not be loaded, and loads it once it can be, file by file", async () => {
  const lost: string[] = [];
  const abort = async (route: Route): Promise<void> => {
    lost.push(route.request().url());
    await route.abort("connectionreset");
  };
  // The tab's script, as often as the first load asks for it, and then, in the second, the chart's style.
  let loads = 0;
  page.on("request", (request) => (loads += request.isNavigationRequest() ? 1 : 0));
  await page.route(/\/sims-tab-[^/]*\.js/, (route) => (loads === 1 ? abort(route) : route.continue()));
  await page.route(/\/usage-chart-[^/]*\.css/, abort, { times: 1 });
  await open(`/assets/${asset}?tab=sims`);
  await page.getByText("by the operator's count").first().waitFor();
  await page.locator("canvas").waitFor();
  expect(new Set(lost.map((url) => /\w+$/.exec(url)?.[0]))).toEqual(new Set(["css", "js"]));
  await page.unrouteAll({ behavior: "wait" });
  expect(tab.complaints).toEqual([]);
});

it("shows no sum without a SIM whose operator has never answered, and says why", async () => {
  sims.kore.fail(/UsageRecords/, { kind: "status", status: 503 });
  const account = await accountId();
  const fresh = { sid: `HS${"e2".repeat(16)}`, iccid: "8988307000009999999" };
  sims.kore.addSim(fresh);
  const uuid = await sims.addAsset(account, "Pump house 10", superSimOptions(fresh));
  await open(`/assets/${uuid}?tab=sims`);
  await page.getByText("SimOperatorFailed").first().waitFor();
  await page.getByText("What the device counted is not known").waitFor();
  expect(await page.getByText("that both counted").count()).toBe(0);
  expect(await page.getByText("by the operator's count").count()).toBe(0);
  expect(await page.getByText("No usage has been counted").count()).toBe(0);
  expect(await lookAtAll(page, "asset-sims-unanswered")).toEqual([]);
  sims.kore.heal();
  expect(tab.complaints).toEqual([]);
});

it("shows a change as pending until the operator confirms it, and asks it again on request", async () => {
  await open(`/assets/${asset}?tab=sims`);
  sims.kore.schedules = true;
  await page.getByRole("button", { name: "Deactivate the SIMs" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Deactivate" }).click();
  const superSim = card("Super SIM");
  await superSim.getByText(/asked .* ago to set it to inactive; the operator has not confirmed it/).waitFor();
  // The other operator has confirmed it at once.
  await card("PRO SIM").getByText("inactive").waitFor();
  await page.getByRole("button", { name: "Activate the SIMs" }).waitFor();
  expect(await lookAtAll(page, "asset-sims-pending")).toEqual([]);
  await page.setViewportSize(DESK);
  sims.kore.schedules = false;
  sims.kore.settle();
  // The service asks by itself, and the page follows.
  await superSim.getByText("the operator has not confirmed it").waitFor({ state: "detached" });
  await superSim.getByText("inactive").waitFor();
  await superSim.getByRole("button", { name: "Refresh the Super SIM" }).click();
  await superSim
    .getByText(/^(?:It had been asked less than a minute before\. )?This is what (?:it|the operator) said\.$/)
    .waitFor();
  await page.getByRole("button", { name: "Activate the SIMs" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Activate" }).click();
  await superSim.getByText("active", { exact: true }).waitFor();
  expect(tab.complaints).toEqual([]);
});

it("sets an allowance by hand, warns where it is used up, and says what that does to a deployment", async () => {
  await open("/sims");
  await page.getByLabel("Deployments", { exact: true }).selectOption("Let them wait");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Save", disabled: true }).waitFor();

  await open(`/assets/${asset}?tab=sims`);
  const allowance = page.getByRole("region", { name: "Allowance of the Super SIM" });
  await allowance.getByText("The allowance is what the operator says.").waitFor();
  await allowance.getByRole("button", { name: "Set by hand" }).click();
  const dialog = page.getByRole("dialog", { name: "Allowance of the Super SIM" });
  await dialog.getByLabel("Each month").fill("none");
  await dialog.getByText("must be a number above 0").waitFor();
  expect(await lookAtAll(page, "sim-allowance-dialog")).toEqual([]);
  await dialog.getByLabel("Each month").fill("1,5");
  await dialog.getByLabel("Unit").selectOption("MB");
  await dialog.getByRole("button", { name: "Set" }).click();
  await allowance.getByText(/It was used up on/).waitFor();
  await allowance.getByText("Set by hand, which takes precedence").waitFor();
  await page.getByText("data plan short").waitFor();
  expect(await lookAtAll(page, "asset-sims-spent")).toEqual([]);

  await open("/assets?attention=data");
  await page.getByRole("link", { name: "Pump house 7" }).waitFor();
  await page.getByRole("status").getByText("1 asset").waitFor();
  await open("/sims?attention=data");
  await expect.poll(() => rows().count()).toBe(1 + 1);
  await rows().getByText("used up").waitFor();
  expect(await lookAtAll(page, "sims-spent")).toEqual([]);

  await open(`/assets/${asset}/deploy`);
  await page.getByText("The monthly allowance of the Super SIM is used up.").waitFor();
  await page.getByText(/It would wait until 1 .*, 00:00 UTC/).waitFor();
  expect(await lookAtAll(page, "deploy-spent-plan")).toEqual([]);
  await page.setViewportSize(DESK);
  await page.getByLabel("Urgent").check();
  await page.getByText("It is carried out all the same, since it is urgent.").waitFor();

  await open(`/assets/${asset}?tab=sims`);
  await allowance.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await allowance.getByText("The allowance is what the operator says.").waitFor();
  await page.getByText("data plan short").waitFor({ state: "detached" });
  expect(tab.complaints).toEqual([]);
});

it("shows a viewer everything, and nothing that only others may do", async () => {
  await using viewer = await openViewer();
  await viewer.page.goto(`${rig.control.url}/assets/${asset}?tab=sims`);
  await card("Super SIM", viewer.page).getByText("active", { exact: true }).waitFor();
  await viewer.page.getByText("of 5.0 GB used this month").waitFor();
  await viewer.page.getByText("by the operator's count").first().waitFor();
  const names = /Refresh|Set by hand|Change|Remove|ctivate/;
  expect(await viewer.page.getByRole("button", { name: names }).count()).toBe(0);
  await viewer.page.goto(`${rig.control.url}/sims`);
  await viewer.page.getByText("Let them wait.").waitFor();
  expect(await viewer.page.getByRole("button", { name: "Save" }).count()).toBe(0);
  expect(await lookAtAll(viewer.page, "sims-viewer")).toEqual([]);
  expect(viewer.complaints).toEqual([]);
});

/** A page on which a viewer whom the admin has invited is signed in. */
async function openViewer(): Promise<OpenedTab> {
  const headers = { origin: rig.control.url };
  const data = { email: "vera@example.com", role: "viewer" };
  const invited = await tab.context.request.post(`${rig.control.url}/v1/users`, { headers, data });
  const { invitation } = (await invited.json()) as { invitation: { link: string } };
  const code = invitation.link.split("code=")[1];
  const viewer = await rig.open();
  const acceptance = { code, name: "Vera", password: "sees and does not touch" };
  const accepted = await viewer.context.request.post(`${rig.control.url}/v1/invitations`, {
    headers,
    data: acceptance,
  });
  expect(accepted.ok(), await accepted.text()).toBe(true);
  return viewer;
}
