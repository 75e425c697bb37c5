import { afterAll, beforeAll, expect, it } from "vitest";
import { type ConsoleFleet, isVersion, startConsoleFleet } from "../../support/console/console-fleet.ts";
import { lookAtAll } from "../../support/console/look-at.ts";
import { type ConsoleRig, type OpenedTab, startConsole } from "../../support/console/opened-console.ts";

const owned = new AsyncDisposableStack();
let rig: ConsoleRig;
let tab: OpenedTab;
let fleet: ConsoleFleet;
beforeAll(async () => {
  rig = owned.use(await startConsole());
  tab = owned.use(await rig.openSignedIn());
  const waves = [{ limit: 3, soak_s: 0, advance: "auto" }];
  fleet = owned.use(await startConsoleFleet(rig, tab, 8, { waves, soak_s: 0, attempts: 1, stop_when: { failed: 2 } }));
  await fleet.revision("good", "Ticket printer");
});
afterAll(() => owned.disposeAsync());

it("shows fleets, and brings a revision to all members after a question in numbers", async () => {
  const { page } = tab;
  await page.goto(`${rig.control.url}/fleets`);
  await page.getByRole("link", { name: "kiosks" }).waitFor();
  expect(await lookAtAll(page, "fleets")).toEqual([]);
  await page.getByRole("link", { name: "kiosks" }).click();
  await page.getByText("8 assets now").waitFor();
  await page.getByRole("button", { name: "Roll out revision 1" }).click();
  const dialog = page.getByRole("dialog", { name: "Roll out revision 1?" });
  await dialog.getByText("It touches 8 assets").waitFor();
  expect(await dialog.getByRole("listitem").allTextContents()).toEqual(["3 assets", "5 assets"]);
  await dialog.getByRole("button", { name: "Ask for the price" }).click();
  await dialog.getByText("8.0 kB in all, on 8 assets that answered.").waitFor();
  expect(await lookAtAll(page, "fleet-roll-out")).toEqual([]);
  await dialog.getByRole("button", { name: "Roll out" }).click();
  await page.getByText("Revision 1 is the stable revision of the fleet.").waitFor();
  await expect.poll(() => page.getByRole("table", { name: "Assets" }).getByText("succeeded").count()).toBe(8);
  expect(await lookAtAll(page, "rollout-succeeded")).toEqual([]);
  expect(tab.complaints).toEqual([]);
});

it("shows at the moment of a stop what stopped it, which assets failed and why, and what going back touches", async () => {
  const { page } = tab;
  // Which assets are in the first wave is not known, so the first two that get it fail.
  let failures = 0;
  for (const device of fleet.devices) {
    device.behave = (apply) =>
      isVersion(apply, "bad") && !apply.isDryRun && ++failures <= 2
        ? { fail: "CrashLoopBackOff", logs: ["no such table"] }
        : "succeed";
  }
  await fleet.revision("bad", "Faster start");
  await page.goto(`${rig.control.url}/fleets/kiosks`);
  await page.getByRole("button", { name: "Compare revision 2" }).click();
  await page.getByRole("dialog").getByText("web: changed").waitFor();
  await page.getByRole("dialog").getByText("image", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  expect(await lookAtAll(page, "fleet")).toEqual([]);
  await page.getByRole("button", { name: "Roll out revision 2" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll out" }).click();

  await page.getByText("Stopped: 2 assets failed.").waitFor();
  await page.getByText("the rollout stops at 2").waitFor();
  const rows = page.getByRole("table", { name: "Assets" }).getByRole("row");
  await rows.nth(1).getByText("failed", { exact: true }).waitFor();
  await rows.nth(1).getByText("CrashLoopBackOff", { exact: true }).waitFor();
  expect(await rows.nth(1).getByRole("link", { name: "Attempt 1" }).getAttribute("href")).toContain("/deployments/");
  expect(await lookAtAll(page, "rollout-stopped")).toEqual([]);

  await page.getByRole("button", { name: "Roll back" }).click();
  const dialog = page.getByRole("dialog", { name: "Roll back to revision 1?" });
  await dialog.getByText(/^Going back touches 3 assets: 2 failed, 1 /).waitFor();
  expect(await lookAtAll(page, "rollout-roll-back")).toEqual([]);
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await page.getByText("This rollout went back to revision 1.").waitFor();
  expect(tab.complaints).toEqual([]);
});

it("shows what the assets went through after it went back, and retries what failed after a question in numbers", async () => {
  const { page } = tab;
  await expect.poll(() => page.getByRole("table", { name: "Assets" }).getByText("1 past attempt").count()).toBe(3);
  const details = page.locator("details", { hasText: "CrashLoopBackOff" }).first();
  await details.locator("summary").click();
  await details.getByText("Attempt 1: failed, CrashLoopBackOff").waitFor();
  await details.getByText("no such table").waitFor();
  expect(await details.getByRole("link", { name: "Attempt 1" }).getAttribute("href")).toContain("/deployments/");
  expect(await lookAtAll(page, "rollout-past-attempts")).toEqual([]);

  await page.getByRole("button", { name: "Retry what failed" }).click();
  const dialog = page.getByRole("dialog", { name: "Retry what failed?" });
  await dialog.getByText("Revision 2 goes to 2 assets, on which it has failed or was refused.").waitFor();
  expect(await lookAtAll(page, "rollout-retry")).toEqual([]);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(tab.complaints).toEqual([]);
});

it("restricts the assets of a rollout to a state, by the keyboard as well", async () => {
  const { page } = tab;
  const skipped = page.getByRole("button", { name: "skipped 5" });
  await skipped.focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("table", { name: "Assets" }).getByRole("row").count()).toBe(5 + 1);
  expect(await skipped.getAttribute("aria-pressed")).toBe("true");
});

it("finds assets by their tags, and says where a selector is wrong", async () => {
  const { page } = tab;
  await page.goto(`${rig.control.url}/assets?selector=${encodeURIComponent("role=kiosk")}`);
  await page.getByRole("status").getByText("8 assets").waitFor();
  await page.getByLabel("Tags").fill("role=kiosk,!role");
  await page.getByText("No asset matches.").waitFor();
  await page.getByLabel("Tags").fill("role==!");
  await page
    .getByText(/at character \d+/)
    .first()
    .waitFor();
  expect(await lookAtAll(page, "assets-selector")).toEqual([]);
});

it("tags and holds an asset, and sets variables without showing them", async () => {
  const { page } = tab;
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${rig.control.url}/assets?q=kiosk-1`);
  await page.getByRole("link", { name: "kiosk-1" }).click();
  await page.getByRole("link", { name: "kiosks" }).waitFor();
  await page.getByRole("link", { name: "Tags and hold" }).click();
  await page.getByLabel("Tag", { exact: true }).fill("beta");
  await page.getByRole("button", { name: "Set the tag" }).click();
  await page.getByRole("button", { name: "Remove the tag beta" }).waitFor();
  await page.getByRole("button", { name: "Remove the tag beta" }).click();
  await page.getByRole("button", { name: "Remove the tag beta" }).waitFor({ state: "detached" });
  await page.getByLabel("Name").fill("API_TOKEN");
  await page.getByLabel("Value").fill("not to be seen");
  await page.getByRole("button", { name: "Set the variable" }).click();
  await page.getByRole("button", { name: "Remove the variable API_TOKEN" }).waitFor();
  expect(await page.getByText("not to be seen").count()).toBe(0);
  await page.getByLabel("Reason").fill("Pump test until Thursday");
  await page.getByRole("button", { name: "Hold" }).click();
  await page.getByText("This asset is held: rollouts do not touch it.").waitFor();
  expect(await lookAtAll(page, "asset-settings")).toEqual([]);
  await page.getByRole("button", { name: "Release" }).click();
  await page.getByText("It is not held: rollouts reach it.").waitFor();
  expect(tab.complaints).toEqual([]);
});
