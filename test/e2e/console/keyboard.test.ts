import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConsoleBrowser } from "../../support/console/browser.ts";
import { setUpLink } from "../../support/console/console-system.ts";
import { Keyboard } from "../../support/console/keyboard.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { webImage, WEB_PORT } from "../../support/images.ts";
import { sharedSystem } from "../../support/system/test-system.ts";

const EMAIL = "ada@example.com";
const PASSWORD = "correct horse battery staple";

const system = sharedSystem(async () => {
  const socketPath = await dockerSocket();
  return socketPath === undefined ? {} : { engine: { socketPath } };
});

const owned = new AsyncDisposableStack();
let browser: ConsoleBrowser;
let page: Page;
let keyboard: Keyboard;
beforeAll(async () => {
  browser = owned.use(await ConsoleBrowser.launch());
  page = await browser.open(await setUpLink(system()));
  keyboard = new Keyboard(page);
});
afterAll(() => owned.disposeAsync());

const heading = (name: string) => page.getByRole("heading", { level: 1, name }).waitFor();

/** Opens a dialog, goes around in it, closes it with Escape, and opens it again. */
async function openDialog(button: string, dialog: string): Promise<void> {
  await keyboard.press(button);
  await page.getByRole("dialog", { name: dialog }).waitFor();
  await expect.poll(() => keyboard.focused()).toMatchObject({ dialog });
  // Between the last and the first of them is the browser's own window, which is no element.
  const stops = (await keyboard.stops(20)).filter(({ isControl }) => isControl);
  expect(new Set(stops.map((stop) => stop.dialog))).toEqual(new Set([dialog]));
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: dialog }).waitFor({ state: "hidden" });
  await expect.poll(async () => (await keyboard.focused()).name).toBe(button);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: dialog }).waitFor();
}

test("set up, sign out and sign in", async () => {
  await heading("Set up");
  await keyboard.type("Your email address", EMAIL);
  await keyboard.type("Password", PASSWORD);
  await page.keyboard.press("Enter");
  await heading("Overview");
  await keyboard.press("Sign out");
  await heading("Sign in");
  await keyboard.type("Email address", EMAIL);
  await keyboard.type("Password", "not the password at all");
  await keyboard.press("Sign in");
  await page.getByText("SignInFailed").waitFor();
  await expect.poll(async () => (await keyboard.focused()).name).toBe("Sign in");
  await keyboard.type("Password", PASSWORD);
  await page.keyboard.press("Enter");
  await heading("Overview");
});

test("find an asset through the search, and open it", async () => {
  const { serialNumber } = system().asset;
  await keyboard.press("Assets");
  await heading("Assets");
  await keyboard.type("Search", "no such device");
  await page.getByText("No asset matches.").waitFor();
  await expect.poll(async () => (await keyboard.focused()).name).toBe("Search");
  await page.keyboard.press("Control+A");
  await page.keyboard.type(serialNumber.slice(2));
  await page.getByRole("status").getByText("1 asset").waitFor();
  await keyboard.press(serialNumber);
  await heading(serialNumber);
});

test("deploy an app by the form, with its price", async () => {
  const name = system().name("keys");
  const image = await system().load(await webImage());
  await keyboard.press("Deploy an app");
  await heading("Deploy an app");
  await keyboard.type("Name", name);
  await keyboard.type("Image", image);
  await keyboard.press("Add a port");
  await keyboard.type("On the device", String(await freeHostPort()));
  await keyboard.type("In the app", String(WEB_PORT));
  await keyboard.press("Check and show the price");
  const deploy = page.getByRole("button", { name: /^Deploy,? / }).last();
  await deploy.waitFor();
  await expect.poll(async () => (await keyboard.focused()).name).toBe("Check and show the price");
  await keyboard.press((await deploy.textContent()) ?? "");
  await page.getByText(`${name} is running`).first().waitFor();
  await expect.poll(async () => (await keyboard.focused()).isControl).toBe(true);
  await browser.look(page, "keyboard-deployed");
  await keyboard.press("Show the asset");
  await page.getByRole("heading", { name }).waitFor();
});

test("create an API key, which not even two presses of Escape take away", async () => {
  await keyboard.press("Developer");
  await heading("Developer");
  await openDialog("Create an API key", "Create an API key");
  await keyboard.type("What it is for", "A script");
  await page.keyboard.press("Enter");
  const key = page.getByRole("dialog").getByText(/^ek_/);
  await key.waitFor();
  await expect.poll(() => keyboard.focused()).toMatchObject({ isControl: true, dialog: "Create an API key" });
  for (let press = 0; press < 3; press++) await page.keyboard.press("Escape");
  expect(await key.isVisible()).toBe(true);
  await browser.look(page, "keyboard-key");
  await keyboard.press("I have stored it");
  await key.waitFor({ state: "hidden" });
  await expect.poll(async () => (await keyboard.focused()).name).toBe("Create an API key");
});

test("invite a person", async () => {
  await keyboard.press("People");
  await heading("People");
  await openDialog("Invite", "Invite a person");
  await keyboard.type("Email address", "ines@example.com");
  await keyboard.to("Role");
  await page.keyboard.type("inst");
  await page.keyboard.press("Tab");
  await keyboard.press("Invite");
  const dialog = page.getByRole("dialog", { name: "Invite a person" });
  await dialog.getByText(/#\/invitation/).waitFor();
  await expect.poll(() => keyboard.focused()).toMatchObject({ isControl: true, dialog: "Invite a person" });
  await keyboard.press("Done");
  await page.getByText("ines@example.com").first().waitFor();
  await expect.poll(async () => (await keyboard.focused()).name).toBe("Invite");
  expect(await page.getByRole("row").filter({ hasText: "ines@example.com" }).textContent()).toContain("installer");
});

test("on a phone: the navigation opens, closes with Escape, and leads to a page", async () => {
  await page.setViewportSize({ width: 360, height: 780 });
  await openDialog("Open the navigation", "Navigation");
  await keyboard.press("Audit log");
  await heading("Audit log");
  await expect.poll(async () => (await keyboard.focused()).isControl).toBe(true);
  await keyboard.press("Open the navigation");
  await keyboard.press("Sign out");
  await heading("Sign in");
});

test("the focus was to be seen wherever it was, and nothing else was wrong", () => {
  expect([...keyboard.unseen]).toEqual([]);
  expect(browser.findings).toEqual([]);
  expect(browser.problems).toEqual([]);
});
