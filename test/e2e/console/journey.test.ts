import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { succeed } from "../../support/command.ts";
import { ConsoleBrowser, PHONE } from "../../support/console/browser.ts";
import { setUpLink } from "../../support/console/console-system.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { bigImage, webImage, WEB_PORT } from "../../support/images.ts";
import { Registry } from "../../support/registry.ts";
import { SlowLink } from "../../support/slow-link.ts";
import { Executable } from "../../support/system/executable.ts";
import { sharedSystem } from "../../support/system/test-system.ts";

const PASSWORD = "correct horse battery staple";
const INSTALLER_PASSWORD = "a ladder beside the gateway";

const system = sharedSystem(async () => {
  const socketPath = await dockerSocket();
  return socketPath === undefined ? {} : { engine: { socketPath } };
});

const owned = new AsyncDisposableStack();
let browser: ConsoleBrowser;
let page: Page;
let firstPort: number;
let firstApp: string;
let firstImage: string;
let secondApp: string;
beforeAll(async () => {
  browser = owned.use(await ConsoleBrowser.launch());
  firstPort = await freeHostPort();
  firstApp = system().name("hello");
  secondApp = system().name("second");
  firstImage = await system().load(await webImage());
  const { final } = await system().deploy({
    name: firstApp,
    image: firstImage,
    ports: [{ host_port: firstPort, target_port: WEB_PORT }],
  });
  expect(final.status).toBe("Success");
});
afterAll(() => owned.disposeAsync());

const asset = (): string => `${system().control.url}/assets/${system().asset.uuid}`;

test("set up by the link, and see the app", async () => {
  page = await browser.open(await setUpLink(system()));
  await page.getByLabel("Your name").fill("Ada Byron");
  await page.getByLabel("Your email address").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await browser.look(page, "journey-01-set-up");
  expect(page.url()).not.toContain("code=");
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await browser.look(page, "journey-02-overview");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Assets" }).click();
  await page.getByRole("row").nth(1).waitFor();
  await browser.look(page, "journey-03-assets");
  await page.getByRole("link", { name: system().asset.serialNumber }).click();
  await page.getByRole("heading", { name: firstApp }).waitFor();
  await page.getByText("running").waitFor();
  await browser.look(page, "journey-04-asset");
});

test("deploy a second app by the form with its price, and watch it live", async () => {
  await using registry = await Registry.start();
  // Two minutes, until the page has been looked at.
  await using link = await SlowLink.to(registry.port, 50_000);
  const pushed = await registry.push(await bigImage(6), "team/second:1");
  const image = system().removeImageLater(pushed.replace(registry.host, link.host));
  await page.getByRole("link", { name: "Deploy an app" }).click();
  await page.getByLabel("Name", { exact: true }).fill(secondApp);
  await page.getByLabel("Image").fill(image);
  await page.getByRole("button", { name: "Add a port" }).click();
  await page.getByRole("textbox", { name: "On the device" }).fill(String(await freeHostPort()));
  await page.getByRole("textbox", { name: "In the app" }).fill("80");
  await page.getByText("More settings").click();
  await page.getByLabel("Command").fill(`-c\n${LOG_SCRIPT}`);
  await page.getByLabel("Other fields, as JSON").fill('{"entrypoint": ["/bin/sh"]}');
  await page.getByRole("button", { name: "Check and show the price" }).click();
  await page.getByRole("button", { name: /^Deploy for/ }).waitFor();
  await browser.look(page, "journey-07-price");
  expect(await page.getByRole("button", { name: /^Deploy for/ }).textContent()).toMatch(/^Deploy for 6\.\d MB$/);
  await page.getByRole("button", { name: /^Deploy for/ }).click();
  await page.getByRole("progressbar", { name: "Download" }).waitFor();
  await page.reload();
  await page.getByRole("progressbar", { name: "Download" }).waitFor();
  await browser.look(page, "journey-08-live");
  link.bytesPerSecond = Infinity;
  await page.getByText(`${secondApp} is running`).first().waitFor();
  await browser.look(page, "journey-09-deployed");
});

test("a taken port is said before the deployment, with what to do", async () => {
  await page.goto(`${asset()}/deploy`);
  await page.getByLabel("Name", { exact: true }).fill(system().name("third"));
  await page.getByLabel("Image").fill(firstImage);
  await page.getByRole("button", { name: "Add a port" }).click();
  await page.getByRole("textbox", { name: "On the device" }).fill(String(firstPort));
  await page.getByRole("textbox", { name: "In the app" }).fill(String(WEB_PORT));
  await page.getByRole("button", { name: "Check and show the price" }).click();
  const alert = page.getByRole("alert");
  await alert.waitFor();
  expect(await alert.textContent()).toContain(`Port ${firstPort} of the device is held by the app ${firstApp}.`);
  expect(await alert.textContent()).toContain("What to do: Choose another port on the device");
  await browser.look(page, "journey-10-taken-port");
  expect(await page.getByRole("button", { name: /^Deploy/ }).count()).toBe(0);
});

test("an update that fails says what the app wrote, and what to do", async () => {
  await page.goto(`${asset()}/apps/${secondApp}/update`);
  await page.getByText("More settings").click();
  await page.getByLabel("Command").fill("-c\necho 'no <b>configuration</b> found'; exit 3");
  // With a check that is never run it does not count as up before it ends.
  const healthcheck = { command: ["true"], interval_s: 3600 };
  await page.getByLabel("Other fields, as JSON").fill(JSON.stringify({ entrypoint: ["/bin/sh"], healthcheck }));
  await page.getByRole("button", { name: "Check and show the price" }).click();
  await page.getByRole("button", { name: "Update, without a download" }).click();
  const alert = page.getByRole("alert");
  await alert.getByText("no <b>configuration</b> found").first().waitFor();
  expect(await alert.textContent()).toContain("CrashLoopBackOff");
  await browser.look(page, "journey-11-failed-update");
});

test("follow the log of the second app, whatever is in it", async () => {
  await page.goto(`${asset()}/apps/${secondApp}/log`);
  const log = page.getByRole("log");
  // Once for each start of the app: the failed update has started it again.
  await log.getByText("<img src=x onerror=alert(1)> <b>bold</b>").first().waitFor();
  expect(await log.locator("img, b").count()).toBe(0);
  await log.getByText("U+202E").first().waitFor();
  await log
    .getByText(/^line 1\d$/)
    .first()
    .waitFor();
  await browser.look(page, "journey-12-log");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("Paused: nothing is read").waitFor();
});

test("the other tabs of the asset", async () => {
  await page.goto(`${asset()}?tab=deployments`);
  await page.getByText("CrashLoopBackOff").first().waitFor();
  await browser.look(page, "asset-deployments");
  await page.getByRole("link", { name: "Device", exact: true }).click();
  await page.getByText("Container engine").waitFor();
  await browser.look(page, "asset-device");
  await page.getByRole("link", { name: "History" }).click();
  await page.getByText("asset registered").first().waitFor();
  await browser.look(page, "asset-history");
  await page.getByRole("navigation", { name: "Parts of the asset" }).getByRole("link", { name: "SIMs" }).click();
  await page.getByText("The asset has no SIM").waitFor();
});

/** Names and lines of apps are text, whatever is in them. */
const LOG_SCRIPT = [
  "i=0",
  "printf '\\033[31mred\\033[0m \\033[2J \\342\\200\\256 <img src=x onerror=alert(1)> <b>bold</b>\\n'",
  "while true; do i=$((i+1)); echo line $i; sleep 0.2; done",
].join("; ");

test("create a key, and use it with curl", async () => {
  await page.goto(`${system().control.url}/developer`);
  await page.getByRole("button", { name: "Create an API key" }).click();
  await page.getByLabel("What it is for").fill("A script");
  await browser.look(page, "journey-05-create-key");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const key = (await page.getByRole("dialog").getByText(/^ek_/).textContent()) ?? "";
  await browser.look(page, "journey-06-key");
  const apps = `${system().control.url}/v1/assets/${system().asset.uuid}/edge/apps`;
  const list = await succeed("curl", ["--silent", "--fail", "--header", `X-API-Key: ${key}`, apps]);
  expect(JSON.parse(list)).toMatchObject({ reachable: true, apps: [{ name: firstApp }, { name: secondApp }] });
});

test("invite an installer, who enrols a second device on a phone", async () => {
  await page.goto(`${system().control.url}/people`);
  await page.getByRole("button", { name: "Invite" }).click();
  await page.getByLabel("Email address").fill("ines@example.com");
  await page.getByLabel("Role").selectOption("installer");
  await page.getByRole("dialog").getByRole("button", { name: "Invite", exact: true }).click();
  const link =
    (await page
      .getByRole("dialog")
      .getByText(/#\/invitation/)
      .textContent()) ?? "";
  await browser.look(page, "journey-13-invitation");

  // The service does not know by which address it is reached here.
  const phone = await browser.open(system().control.url + new URL(link).pathname + new URL(link).hash, PHONE);
  await phone.getByLabel("Password", { exact: true }).fill(INSTALLER_PASSWORD);
  await browser.look(phone, "journey-14-accept");
  await phone.getByRole("button", { name: "Set the password" }).click();
  await phone.getByRole("heading", { name: "Overview" }).waitFor();
  await browser.look(phone, "journey-15-phone-overview");
  await phone.goto(`${system().control.url}/enrol`);
  const serial = `${system().prefix}gw2`;
  await phone.getByLabel("Serial number").fill(serial);
  await browser.look(phone, "journey-16-serial");
  await phone.getByRole("button", { name: "Continue" }).click();
  await phone.getByLabel("Name").fill("Pump house 8");
  await browser.look(phone, "journey-17-register");
  await phone.getByRole("button", { name: "Register" }).click();
  await phone.getByRole("button", { name: "Make a code" }).click();
  const command = (await phone.locator("code").textContent()) ?? "";
  await browser.look(phone, "journey-18-code");

  const directory = join(system().directory, "second-device");
  await mkdir(directory);
  await using device = new SecondDevice(directory);
  await device.enrol(command);
  await device.start();
  await phone.getByText("The device is ready.").waitFor();
  await browser.look(phone, "journey-19-ready");
  // A busy machine may leave its readings out of the first report.
  await expect.poll(() => phone.getByText(/: right$/).count()).toBe(5);
  await device.stop();
  await phone.getByText("Linked to the service: not right").waitFor();
});

test("a device that goes and comes back is shown live in an open list", async () => {
  await page.goto(`${system().control.url}/assets`);
  const name = page.getByRole("link", { name: system().asset.serialNumber, exact: true });
  const row = page.getByRole("row").filter({ has: name });
  await row.getByText("connected", { exact: true }).waitFor();
  await system().agent.stop();
  await row.getByText(/^seen/).waitFor();
  await browser.look(page, "assets-away");
  await page.goto(asset());
  await page.getByText("shown as it was").waitFor();
  await browser.look(page, "asset-away");
  await system().agent.start();
  await page.getByText("connected", { exact: true }).waitFor();
  await page.getByText("shown as it was").waitFor({ state: "hidden" });
});

test("all of it is in the audit log, and in the history of the asset", async () => {
  await page.goto(`${system().control.url}/audit`);
  await page.getByText("ines@example.com").first().waitFor();
  await browser.look(page, "journey-20-audit");
  const actions = await auditActions();
  expect(actions).toEqual(
    expect.arrayContaining(["key.created", "user.invited", "asset.registered", "enrolment_code.created"]),
  );
});

async function auditActions(): Promise<string[]> {
  const { entries } = (await page.evaluate(async () => (await fetch("/v1/audit?limit=200")).json())) as {
    readonly entries: readonly { readonly action: string }[];
  };
  return entries.map(({ action }) => action);
}

/** A device that is enrolled with the command that the page shows. */
class SecondDevice extends Executable {
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
    const [, , ...args] = command.split(" ");
    await succeed("dist/edge-agent", [...args, "--config", this.#config]);
  }
}

test("has no barrier of serious impact, no error of a script, and no refusal by the page's policy", () => {
  expect(browser.findings).toEqual([]);
  expect(browser.problems).toEqual([]);
});
