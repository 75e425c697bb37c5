import { afterAll, beforeAll, expect, it } from "vitest";
import { lookAtAll } from "../../support/console/look-at.ts";
import { type ConsoleRig, startConsole } from "../../support/console/opened-console.ts";

let rig: ConsoleRig;
beforeAll(async () => {
  rig = await startConsole();
});
afterAll(() => rig[Symbol.asyncDispose]());

const assetsWith = (key: string) => fetch(`${rig.control.url}/v1/assets`, { headers: { "x-api-key": key } });

it("a key is created, shown once, used, and refused once it was revoked", async () => {
  await using tab = await rig.openSignedIn();
  const { page } = tab;
  await page.goto(`${rig.control.url}/developer`);
  await page.getByText("There are no API keys.").waitFor();
  await page.getByRole("button", { name: "Create an API key" }).click();
  const dialog = page.getByRole("dialog", { name: "Create an API key" });
  await dialog.getByLabel("What it is for").fill("Deployments by CI <b>");
  expect(await lookAtAll(page, "developer-create")).toEqual([]);
  await dialog.getByRole("button", { name: "Create" }).click();
  const key = (await dialog.locator("code").textContent()) ?? "";
  expect(await lookAtAll(page, "developer-created")).toEqual([]);
  expect((await assetsWith(key)).status).toBe(200);
  // Only its button closes it, so that the key is not lost by a slip.
  await page.keyboard.press("Escape");
  expect(await dialog.isVisible()).toBe(true);
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await page.getByText("Deployments by CI <b>").waitFor();
  expect(await page.content()).not.toContain(key);
  expect(await lookAtAll(page, "developer-keys")).toEqual([]);

  await page.getByRole("button", { name: "Revoke: Deployments by CI" }).click();
  const confirm = page.getByRole("dialog", { name: "Revoke Deployments by CI" });
  expect(await lookAtAll(page, "developer-revoke")).toEqual([]);
  await confirm.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("There are no API keys.").waitFor();
  expect((await assetsWith(key)).status).toBe(401);
  expect(tab.complaints).toEqual([]);
});

it("the log-in of a program is confirmed, and the program gets its key", async () => {
  const start = await post("/v1/device-logins", { client_name: "edgectl on build-7 \u202E" });
  expect(start.status).toBe(422);
  const started = await post("/v1/device-logins", { client_name: "edgectl on build-7" });
  const { device_code, verification_url_complete } = (await started.json()) as Readonly<Record<string, string>>;
  await using tab = await rig.openSignedIn();
  const { page } = tab;
  await page.goto(verification_url_complete ?? "");
  await page.getByText("edgectl on build-7").waitFor();
  expect(page.url()).toBe(`${rig.control.url}/login-request`);
  expect(await lookAtAll(page, "login-request-open")).toEqual([]);
  await page.getByLabel("Role of its key").selectOption("viewer");
  await page.getByRole("button", { name: "Log it in" }).click();
  await page.getByText("The program is logged in.").waitFor();
  const token = await post("/v1/device-logins/token", { device_code });
  expect(await token.json()).toMatchObject({ role: "viewer", api_key: expect.stringMatching(/^ek_/) });
});

it("axe finds a button without a name", async () => {
  await using tab = await rig.open();
  await tab.page.goto(`${rig.control.url}/sign-in`);
  await tab.page.getByLabel("Email address").waitFor();
  await tab.page.evaluate("document.querySelector('main').append(document.createElement('button'))");
  expect((await lookAtAll(tab.page, "with-a-fault")).join()).toContain("button-name");
});

async function post(path: string, body: unknown): Promise<Response> {
  return await fetch(rig.control.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
