import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import type { Page } from "playwright-core";
import { launchBrowser } from "../../test/support/browser/browser.ts";
import { takeScreenshot } from "../../test/support/browser/screenshot.ts";
import { build } from "../bundling/build.ts";
import { APP_PORT, buildAppImage } from "../quickstart/app-image.ts";
import { setUp } from "../setup/set-up.ts";
import { startAgent, stateDirectory, waitUntilOnline } from "../system/agent.ts";
import { type AppRequest, deploy } from "../system/client.ts";
import { startControlPlane } from "../system/control-plane.ts";
import { freeHostPort } from "../system/ports.ts";
import { removeApps } from "../system/remove-apps.ts";

/* Takes the README's picture of the console: a gateway with apps and a SIM, on a real service, agent and engine. */

const FILE = "docs/console.png";
const MAX_BYTES = 200_000;
const SERIAL_NUMBER = "GW-2026-000123";
const PREFERRED_PORT = 30_080;
/** Names that no registry has: the images are built here and removed at the end. */
const IMAGES = [
  "registry.example.com/pumps/controller:2.4.1",
  "registry.example.com/pumps/dashboard:1.9.0",
  "registry.example.com/iot/mosquitto:2.0.22",
  "registry.example.com/iot/node-red:4.1.15",
] as const;

await setUp(["engine", "busybox", "chromium"]);
await build({ onlyIfChanged: true });
await using owner = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "edge-screenshot-"));
owner.defer(() => rm(folder, { recursive: true, force: true }));

const control = owner.use(await startControlPlane(folder));
const { accountId, apiKey } = await control.register("Northern Water", "GW-0001");
const asset = await send("POST", "/v1/assets", {
  serial_number: SERIAL_NUMBER,
  name: "Pump house 7",
  type: "gateway",
  supersim: { sid: "HS0123456789abcdef", iccid: "8988307000001234567", network_group: "default_1gb" },
});
await send("POST", `/v1/assets/${SERIAL_NUMBER}/accept`);

owner.defer(removeImages);
owner.defer(() => removeApps(stateDirectory(folder)));
const agent = owner.use(
  await startAgent(folder, { controlPlaneUrl: control.agentUrl, deviceToken: String(asset["device_token"]) }),
);
await waitUntilOnline(agent);
for (const image of IMAGES) {
  await buildAppImage(image);
  const ports = [{ host_port: await freeHostPort(PREFERRED_PORT), target_port: APP_PORT }];
  await deployApp({ name: /([\w-]+):/.exec(image)?.[1] ?? "", image, ports });
}

const browser = await launchBrowser();
owner.defer(() => browser.close());
const page = await browser.newPage({ viewport: { width: 1280, height: 660 }, colorScheme: "light" });
await signIn(page, await control.setUpLink(accountId, `/assets/${SERIAL_NUMBER}`));
await page.getByRole("heading", { name: "node-red" }).waitFor();
await takeScreenshot(page, { path: FILE, animations: "disabled" });
const { size } = await stat(FILE);
console.log(`${FILE}: ${size} bytes`);
if (size > MAX_BYTES) throw new Error(`${FILE} has more than ${MAX_BYTES} bytes`);

/** Performs a request with the account's key. Returns the body of the response. */
async function send(method: string, url: string, body?: unknown): Promise<Record<string, unknown>> {
  const headers = { "X-API-Key": apiKey, "Content-Type": "application/json" };
  const response = await fetch(control.url + url, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
}

async function removeImages(): Promise<void> {
  const docker = new Docker();
  const images = await docker.listImages({ filters: { reference: [...IMAGES] } });
  const tags = images.flatMap(({ RepoTags = [] }) => RepoTags).filter((tag) => IMAGES.some((image) => image === tag));
  for (const tag of tags) await docker.getImage(tag).remove();
}

/** Deploys an app, and waits until it runs. */
async function deployApp(app: AppRequest): Promise<void> {
  let last = "";
  for await (const { status, message } of deploy({ url: control.url, apiKey, asset: SERIAL_NUMBER }, app))
    last = `${status}: ${message}`;
  if (!last.startsWith("Success")) throw new Error(last);
}

/** Makes the first person of the account, who is signed in then. */
async function signIn(tab: Page, link: string): Promise<void> {
  await tab.goto(link);
  await tab.getByLabel("Your email address").fill("ada@example.com");
  await tab.getByLabel("Password", { exact: true }).fill("correct horse battery staple");
  await tab.getByRole("button", { name: "Set up" }).click();
}
