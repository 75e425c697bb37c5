import { afterAll, beforeAll, expect, it } from "vitest";
import { type ConsoleRig, startConsole } from "../../support/console/opened-console.ts";

/** A person of another account of the same service. */
const BEN = { email: "ben@example.com", password: "rain over the reservoir today" };
const OWN = { "Content-Type": "application/json" };

let rig: ConsoleRig;
beforeAll(async () => {
  rig = await startConsole();
  await rig.setUp();
  const { control } = rig;
  const { apiKey } = await control.createAccount("Other Works");
  const headers = { ...OWN, "X-API-Key": apiKey };
  const invite = await fetch(`${control.url}/v1/users`, {
    method: "POST",
    headers,
    body: JSON.stringify({ email: BEN.email, role: "admin" }),
  });
  const { invitation } = (await invite.json()) as { invitation: { link: string } };
  const code = new URLSearchParams(invitation.link.slice(invitation.link.indexOf("?"))).get("code");
  const accepted = await fetch(`${control.url}/v1/invitations`, {
    method: "POST",
    headers: { ...OWN, Origin: control.url },
    body: JSON.stringify({ code, password: BEN.password }),
  });
  expect(accepted.status).toBe(201);
});
afterAll(() => rig[Symbol.asyncDispose]());

/** Signs Ben in with the browser's cookies, from a page of the service. */
const SIGN_IN = `(person) => fetch("/v1/session", {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(person),
}).then((response) => response.status)`;

it("somebody of another account signs in in another tab: this one forgets what it showed, and its open dialog", async () => {
  await using tab = await rig.openSignedIn();
  const { page, context } = tab;
  await page.goto(`${rig.control.url}/people`);
  await page.getByText("ada@example.com").first().waitFor();
  await page.getByRole("button", { name: "Invite" }).click();
  await page.getByRole("dialog").waitFor();

  // Not through the form, which tells other tabs: they must notice without.
  const other = await context.newPage();
  await other.goto(`${rig.control.url}/sign-in`);
  expect(await other.evaluate(`(${SIGN_IN})(${JSON.stringify(BEN)})`)).toBe(200);

  await page.getByText("Other Works").locator("visible=true").first().waitFor();
  await page.getByText(BEN.email).first().waitFor();
  expect(await page.getByText("ada@example.com").count()).toBe(0);
  expect(await page.getByRole("dialog").count()).toBe(0);
});
