import { afterAll, beforeAll, expect, it } from "vitest";
import { lookAtAll } from "../../support/console/look-at.ts";
import { ADMIN, type ConsoleRig, startConsole } from "../../support/console/opened-console.ts";

let rig: ConsoleRig;
beforeAll(async () => {
  rig = await startConsole();
});
afterAll(() => rig[Symbol.asyncDispose]());

it("the service restarted under an open page: the page says so, and goes on by itself", async () => {
  await using tab = await rig.openSignedIn();
  const { page } = tab;
  await page.goto(`${rig.control.url}/people`);
  await page.getByText(ADMIN.email).waitFor();
  await rig.control.stop();
  await page.getByRole("link", { name: "Audit log" }).click();
  const banner = page.getByText("has not answered for");
  await banner.waitFor();
  expect(await lookAtAll(page, "unreachable")).toEqual([]);
  await rig.control.start();
  await page.getByText("user.created").locator("visible=true").first().waitFor();
  await banner.waitFor({ state: "hidden" });
});

it("signed out in one tab, the other one asks to sign in by itself: its events end with the session", async () => {
  await using tab = await rig.openSignedIn();
  const other = await tab.context.newPage();
  await other.goto(`${rig.control.url}/profile`);
  await tab.page.goto(`${rig.control.url}/people`);
  await tab.page.getByText(ADMIN.email).waitFor();
  await other.getByRole("main").getByRole("button", { name: "Sign out" }).click();
  await other.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  await tab.page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
});
