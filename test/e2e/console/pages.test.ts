import { afterAll, beforeAll, expect, it } from "vitest";
import { lookAtAll } from "../../support/console/look-at.ts";
import { ADMIN, type ConsoleRig, startConsole } from "../../support/console/opened-console.ts";

let rig: ConsoleRig;
beforeAll(async () => {
  rig = await startConsole();
});
afterAll(() => rig[Symbol.asyncDispose]());

/** Pages without a session, and the text that shows that each is complete. */
const PUBLIC_PAGES = [
  ["set-up", "/setup", "Set-up code"],
  ["sign-in", "/sign-in", "Email address"],
  ["invitation-without-code", "/invitation", "This link has no code."],
  ["invitation", "/#/invitation?code=ec_not-a-code", "The link can be used once."],
] as const;

/** Pages with a session, as an admin of an account with little in it sees them. */
const PAGES = [
  ["overview", "/overview", "There are no assets yet."],
  ["fleets-none", "/fleets", "There are no fleets yet."],
  ["fleet-unknown", "/fleets/nowhere", "FleetNotFound"],
  ["rollout-unknown", "/fleets/nowhere/rollouts/rol_0", "FleetNotFound"],
  ["sims-none", "/sims", "There are no SIMs yet."],
  ["people", "/people", ADMIN.name],
  ["developer", "/developer", "Try it"],
  ["audit", "/audit", "user.created"],
  ["audit-filtered", "/audit?action=volume.&outcome=failed", "No entry fits."],
  ["profile", "/profile", "What your role permits"],
  ["login-request", "/login-request", "A program that wants to log in"],
] as const;

it.each(PUBLIC_PAGES)("%s, without a session, in light and dark, on a phone and a desk", async (name, path, text) => {
  await using tab = await rig.open();
  await tab.page.goto(rig.control.url + path);
  await tab.page.getByText(text).first().waitFor();
  expect(await lookAtAll(tab.page, name)).toEqual([]);
  expect(tab.complaints).toEqual([]);
});

it.each(PAGES)("%s, with a session, in light and dark, on a phone and a desk", async (name, path, text) => {
  await using tab = await rig.openSignedIn();
  await tab.page.goto(rig.control.url + path);
  await tab.page.getByText(text).locator("visible=true").first().waitFor();
  expect(await lookAtAll(tab.page, name)).toEqual([]);
  expect(tab.complaints).toEqual([]);
});
