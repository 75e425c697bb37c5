import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ADMIN, type ConsoleRig, startConsole } from "../../support/console/opened-console.ts";
import { waitFor } from "../../support/wait-for.ts";

let rig: ConsoleRig;
beforeAll(async () => {
  rig = await startConsole();
});
afterAll(() => rig[Symbol.asyncDispose]());

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name });

it("the set-up link makes the first admin, and its code is not in the browser's history", async () => {
  await using tab = await rig.open();
  const { page } = tab;
  await page.goto(await rig.setUpLink());
  await heading(page, "Set up").waitFor();
  expect(page.url()).toBe(`${rig.control.url}/setup`);
  await page.getByLabel("Name of the account").fill(ADMIN.accountName);
  await page.getByLabel("Your name").fill(ADMIN.name);
  await page.getByLabel("Your email address").fill(ADMIN.email);
  await page.getByLabel("Password", { exact: true }).fill("short");
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByText("WeakPassword").waitFor();
  await page.getByLabel("Password", { exact: true }).fill(ADMIN.password);
  await page.getByRole("button", { name: "Set up" }).click();
  await heading(page, "Overview").waitFor();
  await expect.poll(() => page.getByText(ADMIN.accountName).locator("visible=true").count()).toBe(1);
  expect(tab.complaints).toEqual([]);
});

it("by keyboard alone: a page asks to sign in first, and is opened afterwards", async () => {
  await using tab = await rig.open();
  const { page } = tab;
  await page.goto(`${rig.control.url}/audit?outcome=ok`);
  await heading(page, "Sign in").waitFor();
  await tabTo(page, "Email address");
  await page.keyboard.type(ADMIN.email);
  await tabTo(page, "Password");
  await page.keyboard.type("not the password at all");
  await page.keyboard.press("Enter");
  await page.getByText("SignInFailed").waitFor();
  await tabTo(page, "Password");
  await page.keyboard.press("Control+A");
  await page.keyboard.type(ADMIN.password);
  await page.keyboard.press("Enter");
  await heading(page, "Audit log").waitFor();
  expect(page.url()).toBe(`${rig.control.url}/audit?outcome=ok`);
  await tabTo(page, "Sign out");
  await page.keyboard.press("Enter");
  await heading(page, "Sign in").waitFor();
});

it("an invited person chooses a password, and sees what the role permits", async () => {
  const link = await invite("grace@example.com", "installer");
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/invitation\?code=/);
  await using tab = await rig.open({ viewport: { width: 360, height: 740 } });
  const { page } = tab;
  await page.goto(link);
  await page.getByLabel("Your name").fill("Grace Hopper");
  await page.getByLabel("Password", { exact: true }).fill("a bug in the relay of panel F");
  await page.getByRole("button", { name: "Set the password" }).click();
  await heading(page, "Overview").waitFor();
  await page.getByRole("button", { name: "Open the navigation" }).click();
  const navigation = page.getByRole("dialog", { name: "Navigation" });
  await navigation.getByText("Grace Hopper").waitFor();
  expect(await navigation.getByRole("link", { name: "People" }).count()).toBe(0);
  await page.goto(`${rig.control.url}/people`);
  await page.getByText("Your role does not permit this.").waitFor();
  expect(await page.getByText("users.manage").count()).toBe(1);
  // The link was used.
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByLabel("Password", { exact: true }).fill("another password of mine");
  await page.getByRole("button", { name: "Set the password" }).click();
  await page.getByText("InvitationUsed").waitFor();
});

it("the service's policy lets no inline script run", async () => {
  await using tab = await rig.open();
  await tab.page.goto(`${rig.control.url}/sign-in`);
  await heading(tab.page, "Sign in").waitFor();
  await tab.page.evaluate(
    `document.body.insertAdjacentHTML("beforeend", "<img src='data:,' onerror='document.title = \\"ran\\"'>")`,
  );
  await waitFor("a refusal", () => tab.complaints.length > 0);
  expect(tab.complaints[0]).toContain("Content Security Policy");
  expect(await tab.page.title()).not.toBe("ran");
});

/** Presses Tab until the control with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const passed: unknown[] = [];
  for (let count = 0; count < 60; count++) {
    const focused = await page.evaluate<string>(FOCUSED_NAME);
    if (focused === name) return;
    passed.push(focused);
    await page.keyboard.press("Tab");
  }
  throw new Error(`${name} cannot be reached with Tab, only ${passed.join(", ")}`);
}

const FOCUSED_NAME = `(() => {
  const { activeElement } = document;
  return activeElement.getAttribute("aria-label") ?? activeElement.labels?.[0]?.textContent ?? activeElement.textContent;
})()`;

async function invite(email: string, role: string): Promise<string> {
  await using tab = await rig.open();
  const { page } = tab;
  await page.goto(`${rig.control.url}/sign-in?next=/people`);
  await page.getByLabel("Email address").fill(ADMIN.email);
  await page.getByLabel("Password", { exact: true }).fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog", { name: "Invite a person" });
  await dialog.getByLabel("Email address").fill(email);
  await dialog.getByLabel("Role").selectOption(role);
  await dialog.getByRole("button", { name: "Invite" }).click();
  return (await dialog.locator("code").textContent()) ?? "";
}
