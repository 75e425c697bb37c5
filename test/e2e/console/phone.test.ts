import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { succeed } from "../../support/command.ts";
import { ConsoleBrowser, PHONE } from "../../support/console/browser.ts";
import { setUpLink } from "../../support/console/console-system.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { bigImage } from "../../support/images.ts";
import { TcpRelay } from "../../support/link/tcp-relay.ts";
import { Registry } from "../../support/registry.ts";
import { SlowLink } from "../../support/slow-link.ts";
import { Executable } from "../../support/system/executable.ts";
import { sharedSystem } from "../../support/system/test-system.ts";

/** About eight seconds at the rate of its link. */
const IMAGE_MB = 4;
/** So slow that the download goes on until the link of the phone is lost and the page has been looked at. */
const BYTES_PER_SECOND = 40_000;

const system = sharedSystem(async () => {
  const socketPath = await dockerSocket();
  return socketPath === undefined ? {} : { engine: { socketPath } };
});

const owned = new AsyncDisposableStack();
let browser: ConsoleBrowser;
/** The phone's way to the service. */
let link: TcpRelay;
let page: Page;
beforeAll(async () => {
  browser = owned.use(await ConsoleBrowser.launch());
  link = owned.use(await TcpRelay.to(system().control.port));
  const code = new URL(await setUpLink(system())).hash;
  page = await browser.open(`${phoneUrl()}/${code}`, PHONE);
  await page.getByLabel("Your email address").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill("correct horse battery staple");
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});
afterAll(() => owned.disposeAsync());

const phoneUrl = (): string => `http://127.0.0.1:${link.port}`;

/** Ways in which a phone loses its link, each with the way back. */
const LOSSES = {
  "the phone has no network": {
    lose: async () => {
      await page.context().setOffline(true);
      link.cut();
    },
    restore: () => page.context().setOffline(false),
  },
  "connections are reset": {
    lose: async () => link.sever(),
    restore: async () => link.restore(),
  },
} as const;

test.each(Object.entries(LOSSES))("%s in the middle of a deployment", async (what, { lose, restore }) => {
  await using registry = await Registry.start();
  await using slow = await SlowLink.to(registry.port, BYTES_PER_SECOND);
  const pushed = await registry.push(await bigImage(IMAGE_MB), `team/app${what.length}:1`);
  const name = system().name("phone");
  await page.goto(`${phoneUrl()}/assets/${system().asset.uuid}/deploy`);
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Image").fill(system().removeImageLater(pushed.replace(registry.host, slow.host)));
  await page.getByRole("button", { name: "Check and show the price" }).click();
  await page.getByRole("button", { name: /^Deploy for/ }).click();
  await page.getByRole("progressbar", { name: "Download" }).waitFor();
  await lose();
  await page.getByText("The link to the service is lost.").waitFor();
  await page.getByText("has not answered for").waitFor();
  expect(await page.getByRole("progressbar", { name: "Download" }).count()).toBe(1);
  await browser.look(page, `phone-lost-${what.length}`);
  slow.bytesPerSecond = Infinity;
  // It ends without anybody who looks.
  await ended(name);
  expect(await page.getByText(`${name} is running`).count()).toBe(0);
  await restore();
  await page.getByText(`${name} is running`).first().waitFor();
  await page.getByText("has not answered for").waitFor({ state: "hidden" });
  await page.getByText("The link to the service is lost.").waitFor({ state: "hidden" });
  // The steps have each event once: the end, too.
  const steps = await page.getByRole("region", { name: "Steps" }).getByRole("listitem").allTextContents();
  expect(steps.filter((step) => step.includes("Done"))).toHaveLength(1);
  expect(new Set(steps).size).toBe(steps.length);
  await page.getByRole("progressbar").waitFor({ state: "hidden" });
  await browser.look(page, `phone-back-${what.length}`);
});

test("an answer that is lost while a deployment is started: pressed again, it is the same deployment", async () => {
  const name = system().name("once");
  await using registry = await Registry.start();
  await page.goto(`${phoneUrl()}/assets/${system().asset.uuid}/deploy`);
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Image").fill(system().removeImageLater(await registry.push(await bigImage(1), "team/once:1")));
  await page.getByRole("button", { name: "Check and show the price" }).click();
  const button = page.getByRole("button", { name: /^Deploy for/ });
  await button.waitFor();
  link.loses = "deployment-id";
  await button.click();
  await page.getByText("The server cannot be reached.").waitFor();
  link.loses = undefined;
  await button.click();
  await page.getByText(`${name} is running`).first().waitFor();
  expect(await deploymentsOf(name)).toHaveLength(1);
});

test("a link that is lost while a device is enrolled: each step goes on by itself", async () => {
  const serial = `${system().prefix}gw-phone`;
  const { lose, restore } = LOSSES["the phone has no network"];
  await page.goto(`${phoneUrl()}/enrol`);
  await page.getByLabel("Serial number").fill(serial);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("Name").fill("Pump house 9");
  // The service has registered it, and its answer does not arrive.
  link.loses = "201 Created";
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByRole("button", { name: "Make a code" }).waitFor();
  link.loses = undefined;
  await page.getByRole("button", { name: "Make a code" }).click();
  const command = (await page.locator("code").textContent()) ?? "";
  // The button that had the focus is gone.
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toMatch(/^Code /);
  await lose();
  const directory = join(system().directory, "phone-device");
  await mkdir(directory);
  await using device = new EnrolledDevice(directory);
  await device.enrol(command);
  await device.start();
  await page.getByText("has not answered for").waitFor();
  // What was on the page stays, above all the code.
  expect(await page.locator("code").textContent()).toBe(command);
  expect(await page.getByText("The device is ready.").count()).toBe(0);
  await browser.look(page, "phone-enrol-lost");
  await restore();
  await page.getByText("The device is ready.").waitFor();
  await page.getByText("has not answered for").waitFor({ state: "hidden" });
  expect(await page.getByText("The device is ready.").count()).toBe(1);
});

test("has no barrier of serious impact, no error of a script, and no refusal by the page's policy", () => {
  expect(browser.findings).toEqual([]);
  expect(browser.problems).toEqual([]);
});

interface ListedDeployment {
  readonly status: string;
  readonly dry_run?: boolean;
}

async function deploymentsOf(name: string): Promise<readonly ListedDeployment[]> {
  const { body } = await apiClient(system().control, system().account).get(
    `/v1/assets/${system().asset.uuid}/edge/deployments`,
  );
  return (body["deployments"] as readonly ListedDeployment[]).filter(
    (each) => !each.dry_run && JSON.stringify(each).includes(name),
  );
}

async function ended(name: string): Promise<void> {
  await expect.poll(async () => (await deploymentsOf(name)).map(({ status }) => status)).toEqual(["Success"]);
}

/** A device that is enrolled with the command that the page shows, over a link of its own. */
class EnrolledDevice extends Executable {
  readonly #config: string;

  constructor(directory: string) {
    const config = join(directory, "agent.json");
    super({
      path: "dist/edge-agent",
      args: () => ["run", "--config", config],
      env: { DOCKER_HOST: undefined },
      isReady: ({ msg }) => msg.startsWith("online"),
    });
    this.#config = config;
    const file = { state_dir: join(directory, "state"), engine: { socket: system().engineSocket } };
    writeFileSync(config, JSON.stringify(file), { mode: 0o600 });
  }

  async enrol(command: string): Promise<void> {
    const [, , ...args] = command.replace(phoneUrl(), system().control.url).split(" ");
    await succeed("dist/edge-agent", [...args, "--config", this.#config]);
  }
}
