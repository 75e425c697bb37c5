import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run, type RunningCommand, start } from "../../support/command.ts";
import { ConsoleBrowser } from "../../support/console/browser.ts";
import { tempDir } from "../../support/temp-dir.ts";

const docker = new Docker();

/** Names of everything on the engine whose name or label has this text. */
async function found(text: string): Promise<string[]> {
  const containers = await docker.listContainers({ all: true });
  const networks = await docker.listNetworks();
  const { Volumes: volumes } = await docker.listVolumes();
  const images = await docker.listImages();
  const all = [
    ...containers.map(({ Names: [name], Labels }) => ({ name, Labels })),
    ...networks.map(({ Name, Labels }) => ({ name: Name, Labels })),
    ...volumes.map(({ Name, Labels }) => ({ name: Name, Labels })),
    ...images.map(({ RepoTags }) => ({ name: RepoTags?.join(), Labels: {} })),
  ];
  return all.filter((entry) => JSON.stringify(entry).includes(text)).map(({ name = "" }) => name);
}

/* One quickstart, from its link to its end. The tests run in order. */

let quickstart: RunningCommand;
beforeAll(async () => {
  quickstart = start("node_modules/.bin/node", ["scripts/quickstart/main.ts"]);
  await quickstart.waitForOutput("Ctrl-C stops everything and removes it.");
});
/** Ends it as a user does, so that it cleans up. */
async function end(): Promise<number | null> {
  quickstart.kill("SIGINT");
  return await quickstart.exited;
}
afterAll(() => end());

test("it ends with a link that signs in and shows the app it has deployed", async () => {
  await using browser = await ConsoleBrowser.launch();
  const [, link = ""] = /(http:\/\/127\.0\.0\.1:\d+\/#\/setup\?\S+)/.exec(quickstart.stdout()) ?? [];
  const [, app = ""] = /Deploy (hello-\w+) with/.exec(quickstart.stdout()) ?? [];
  expect([link, app]).not.toContain("");
  const page = await browser.open(link);
  await page.getByLabel("Your email address").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill("correct horse battery staple");
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("heading", { name: app }).waitFor();
  await page.getByText("running").waitFor();
  await browser.look(page, "quickstart");
  expect(browser.findings).toEqual([]);
  expect(browser.problems).toEqual([]);
});

test("Ctrl-C removes everything, also what was deployed to it meanwhile", async () => {
  const [, url = "", key = ""] = /EDGECTL_URL=(\S+) EDGECTL_API_KEY=(\S+)/.exec(quickstart.stdout()) ?? [];
  const [, image = "", id = ""] = /--image (edge-quickstart-(\w+):1)/.exec(quickstart.stdout()) ?? [];
  const [, folder = ""] = /logs +(\S+)/.exec(quickstart.stdout()) ?? [];

  await using own = await tempDir();
  const file = join(own.path, "edge.yaml");
  const apps = { one: { image, volumes: [{ name: "data", target: "/data" }] }, two: { image, networks: ["side"] } };
  await writeFile(file, JSON.stringify({ name: `line-${id}`, apps }));
  const env = { EDGECTL_URL: url, EDGECTL_API_KEY: key, XDG_CONFIG_HOME: own.path };
  const applied = await run("dist/edgectl", ["apply", "GW-0001", "-f", file, "--yes"], { env });
  expect(applied).toMatchObject({ code: 0, stdout: expect.stringContaining("is applied: 2 changed.") as string });
  // Three containers, two networks, a volume and an image.
  expect([...new Set([...(await found(folder)), ...(await found(image))])]).toHaveLength(7);

  expect([await end(), quickstart.stderr()]).toEqual([0, ""]);
  expect([...(await found(folder)), ...(await found(image))]).toEqual([]);
});
