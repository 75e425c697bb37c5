import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { ConsoleBrowser, PHONE } from "../../support/console/browser.ts";
import { setUpLink } from "../../support/console/console-system.ts";
import { lookAtAll } from "../../support/console/look-at.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import type { Asset } from "../../support/system/control.ts";
import { sharedSystem } from "../../support/system/test-system.ts";

const TAGS = `<img src=x onerror="document.title='ran'"><b>bold</b>`;
/** What a terminal, a browser or the order of writing would act upon, and no place to break the line. */
const HOSTILE = `${TAGS}\u001B[31mred\u001B[2J\u202E\u05D0\u05D1\u05D2\u200F`;
const LONG = HOSTILE.padEnd(10_000, "w");
/** As long as a name may be. */
const NAME = `${TAGS}\u05D0\u05D1\u05D2`.padEnd(128, "w");
/** The device cuts longer lines. */
const MAX_LINE = 8_192;

const system = sharedSystem(async () => {
  const socketPath = await dockerSocket();
  return socketPath === undefined ? {} : { engine: { socketPath } };
});

const owned = new AsyncDisposableStack();
let browser: ConsoleBrowser;
let page: Page;
let asset: Asset;
let device: FakeDevice;
let deploymentId: string;
beforeAll(async () => {
  const { control, account, prefix } = system();
  asset = await control.addAsset(account.accountId, `${prefix}hostile`);
  const client = apiClient(control, account);
  expect((await client.patch(`/v1/assets/${asset.uuid}`, { name: NAME })).status).toBe(200);
  device = owned.use(await FakeDevice.connect(`ws://127.0.0.1:${control.port}/v1/agent`, asset.deviceToken));
  device.report({ hash: "1", apps: [APP] });
  using stream = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "registry.example.com/web:1" },
  });
  deploymentId = (await device.next("deploy")).deployment_id;
  device.event(deploymentId, { step: "pulling", message: LONG.slice(0, 2000) });
  const details = { logs: [LONG.slice(0, 2000), TAGS] };
  const failure = { code: "CrashLoopBackOff", message: LONG.slice(0, 2000), details } as const;
  device.event(deploymentId, { status: "Fail", step: "done", ...failure });
  expect(await stream.ended).toBe(true);
  expect(stream.events.at(-1)).toMatchObject({ code: "CrashLoopBackOff" });
  browser = owned.use(await ConsoleBrowser.launch());
  page = await browser.open(await setUpLink(system()), PHONE);
  await page.getByLabel("Your name").fill(TAGS);
  await page.getByLabel("Your email address").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill("correct horse battery staple");
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});
afterAll(() => owned.disposeAsync());

const APP = {
  name: "web",
  image: `registry.example.com/${"w".repeat(480)}`,
  image_digest: null,
  state: "unhealthy",
  desired_state: "running",
  since: null,
  restarts: 3,
  spec: { name: "web", image: "w".repeat(500), command: ["sh", "-c", LONG], environments: [{ key: "A", value: LONG }] },
  last_deployment: null,
} as const;

/** The page shows it as text, at each width and in both themes, without having to be scrolled sideways. */
async function expectText(name: string): Promise<void> {
  expect(await page.locator("main img, main b, dialog img, dialog b").count()).toBe(0);
  expect(await page.title()).not.toBe("ran");
  expect(await lookAtAll(page, `hostile-${name}`)).toEqual([]);
  await page.setViewportSize(PHONE);
}

const PAGES: readonly (readonly [string, () => string, string])[] = [
  ["assets", () => "/assets?q=hostile", "<img src=x"],
  ["asset", () => `/assets/${asset.uuid}`, "unhealthy"],
  ["deployments", () => `/assets/${asset.uuid}?tab=deployments`, "CrashLoopBackOff"],
  ["device", () => `/assets/${asset.uuid}?tab=device`, NAME.slice(0, 10)],
  ["history", () => `/assets/${asset.uuid}?tab=history`, "asset registered"],
  ["deployment", () => `/assets/${asset.uuid}/deployments/${deploymentId}`, "CrashLoopBackOff"],
  ["update", () => `/assets/${asset.uuid}/apps/web/update`, "More settings"],
  ["people", () => "/people", TAGS.slice(0, 10)],
  ["audit", () => "/audit", TAGS.slice(0, 10)],
  ["profile", () => "/profile", TAGS.slice(0, 10)],
];

test.each(PAGES)("%s", async (name, path, text) => {
  await page.goto(system().control.url + path());
  await page.getByText(text).locator("visible=true").first().waitFor();
  await expectText(name);
});

test("lines of a log are text, and a long one is cut until somebody asks for all of it", async () => {
  await page.goto(`${system().control.url}/assets/${asset.uuid}/apps/web/log`);
  const { query_id: id } = await untilLogs();
  const time = new Date().toISOString();
  const lines = [
    { stream: "stdout", time, text: LONG.slice(0, MAX_LINE), truncated: true },
    { stream: "stderr", time, text: "\u202Eafter\u2066 it" },
    { stream: "stdout", time, text: "the last line" },
  ];
  device.answer(id, { lines });
  const log = page.getByRole("log");
  await log.getByText("the last line").waitFor();
  await log.getByText("cut by the device").waitFor();
  expect(await log.getByText("U+202E").count()).toBe(2);
  expect(await log.textContent()).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  await expectText("log");
  await log.getByRole("button", { name: /^Show all/ }).click();
  await expectText("log-all");
});

test("a text of 10,000 characters in a form is refused, and says so", async () => {
  await page.goto(`${system().control.url}/developer`);
  await page.getByRole("button", { name: "Create an API key" }).click();
  await page.getByLabel("What it is for").fill(LONG.replaceAll(/\p{Cc}/gu, ""));
  await page.getByRole("dialog").getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("dialog").getByRole("alert").waitFor();
  await expectText("long-key");
  await page.keyboard.press("Escape");
  await page.goto(`${system().control.url}/enrol`);
  await page.getByLabel("Serial number").fill("w".repeat(10_000));
  await page.getByRole("button", { name: "Continue" }).click();
  await page
    .getByRole("alert")
    .or(page.getByRole("button", { name: "Register" }))
    .first()
    .waitFor();
  await expectText("long-serial");
});

test("has no error of a script, and no refusal by the page's policy", () => {
  expect(browser.problems).toEqual([]);
});

async function untilLogs(): Promise<{ readonly query_id: string }> {
  for (;;) {
    const query = await device.next("query");
    if (query.what === "logs") return query;
  }
}
