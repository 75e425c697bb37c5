import { expect, test } from "vitest";
import { start } from "../../support/command.ts";
import { ConsoleBrowser } from "../../support/console/browser.ts";

test("the quickstart ends with a link that signs in and shows the app it has deployed", async () => {
  await using quickstart = start("node_modules/.bin/node", ["scripts/quickstart/main.ts"]);
  await using browser = await ConsoleBrowser.launch();
  await quickstart.waitForOutput("Ctrl-C stops everything and removes it.", 120_000);
  const [, link = ""] = /(http:\/\/127\.0\.0\.1:\d+\/#\/setup\?\S+)/.exec(quickstart.stdout()) ?? [];
  const [, app = ""] = /Deploy (hello-\w+) with/.exec(quickstart.stdout()) ?? [];
  expect([link, app]).not.toContain("");
  try {
    const page = await browser.open(link);
    await page.getByLabel("Your email address").fill("ada@example.com");
    await page.getByLabel("Password", { exact: true }).fill("correct horse battery staple");
    await page.getByRole("button", { name: "Set up" }).click();
    await page.getByRole("heading", { name: app }).waitFor();
    await page.getByText("running").waitFor();
    await browser.look(page, "quickstart");
    expect(browser.findings).toEqual([]);
    expect(browser.problems).toEqual([]);
  } finally {
    quickstart.kill("SIGINT");
    await quickstart.exited;
  }
});
