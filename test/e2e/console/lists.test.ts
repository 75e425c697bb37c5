import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { ConsoleBrowser, PHONE } from "../../support/console/browser.ts";
import { setUpLink } from "../../support/console/console-system.ts";
import { Keyboard } from "../../support/console/keyboard.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { openStream } from "../../support/event-stream.ts";
import { sharedSystem } from "../../support/system/test-system.ts";

const HOSTILE = '<img src=x onerror="document.title=1"> <b>bold</b> \u200f\u05d0\u05d1\u05d2 ' + "w".repeat(60);
const COUNT = 100_000;
const PAGE_SIZE = 200;

const system = sharedSystem(async () => {
  const socketPath = await dockerSocket();
  return socketPath === undefined ? {} : { engine: { socketPath } };
});

const owned = new AsyncDisposableStack();
let browser: ConsoleBrowser;
let page: Page;
beforeAll(async () => {
  browser = owned.use(await ConsoleBrowser.launch());
  const client = apiClient(system().control, system().account);
  const body = { serial_number: `${system().prefix}hostile`, name: HOSTILE, type: "<i>gateway</i>", supersim: SIM };
  expect((await client.post("/v1/assets", body)).status).toBe(201);
  page = await browser.open(await setUpLink(system()));
  await page.getByLabel("Your email address").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill("correct horse battery staple");
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});
afterAll(() => owned.disposeAsync());

const SIM = { sid: `HS${Date.now()}`, iccid: `89${Date.now()}`, network_group: "default_1gb" };

test("names are text, whatever is in them, on a wide screen and on a phone", async () => {
  await page.goto(`${system().control.url}/assets?q=hostile`);
  const name = page.getByRole("link", { name: "<img src=x" });
  await name.waitFor();
  expect(await page.getByRole("table").locator("img, b, i").count()).toBe(0);
  await page.getByText("U+200F").waitFor();
  await browser.look(page, "assets-hostile");
  await page.setViewportSize(PHONE);
  await browser.look(page, "assets-hostile-phone");
  await name.click();
  await page.getByRole("navigation", { name: "Parts of the asset" }).getByRole("link", { name: "SIMs" }).click();
  await page.getByRole("heading", { name: "Super SIM", exact: true }).waitFor();
  await page.getByText("by the operator's count").waitFor();
  await page.getByText("No usage has been counted").waitFor();
  await browser.look(page, "asset-sims-phone");
  await page.setViewportSize({ width: 1440, height: 900 });
  await browser.look(page, "asset-sims");
  expect(await page.title()).toContain("<img src=x");
});

test("a filter is in the address, and going back takes it away", async () => {
  await page.goto(`${system().control.url}/assets`);
  await page.getByLabel("SIM status").selectOption("active");
  await page.waitForURL(/status=active/);
  await page.getByRole("status").getByText("1 asset").waitFor();
  await page.getByLabel("Search").fill("no such device");
  await page.getByText("No asset matches.").waitFor();
  await browser.look(page, "assets-none");
  await page.getByRole("button", { name: "Show all assets" }).click();
  await page.getByRole("status").getByText("2 assets").waitFor();
});

test("on a phone the filters are behind a button, which says how many are set", async () => {
  await page.setViewportSize(PHONE);
  await page.goto(`${system().control.url}/assets?q=e&status=active&connected=false`);
  const button = page.getByRole("button", { name: "Filters (2)" });
  await button.waitFor();
  expect(await page.getByLabel("SIM status").isVisible()).toBe(false);
  await browser.look(page, "assets-filters-closed-phone");
  const keyboard = new Keyboard(page);
  await keyboard.press("Filters (2)");
  expect(await button.getAttribute("aria-expanded")).toBe("true");
  // What the button shows is what comes next.
  expect((await keyboard.stops(2)).map(({ name }) => name)).toEqual(["Link", "Attention"]);
  await browser.look(page, "assets-filters-phone");
  await page.getByLabel("SIM status").selectOption("");
  await page.getByRole("button", { name: "Filters (1)" }).waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("button", { name: "Filters", exact: true }).click();
  await page.getByLabel("SIM status").waitFor({ state: "hidden" });
  expect([...keyboard.unseen]).toEqual([]);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByLabel("SIM status").waitFor();
});

test("checks are hidden among the deployments, and say that they are checks", async () => {
  const { control, account, asset } = system();
  using check = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps?dry_run=true`, {
    apiKey: account.apiKey,
    body: { name: "checked", image: "registry.invalid/checked:1" },
  });
  expect(await check.ended).toBe(true);
  await page.goto(`${control.url}/assets/${asset.uuid}`);
  await page.getByRole("link", { name: "Deployments" }).click();
  const show = page.getByRole("checkbox", { name: "Show checks, which change nothing (1)" });
  await show.waitFor();
  expect(await page.getByRole("link", { name: "check of deploy checked" }).count()).toBe(0);
  await show.check();
  await page.getByRole("link", { name: "check of deploy checked" }).waitFor();
  await page.getByText("check: it would fail").waitFor();
  await browser.look(page, "asset-deployments-checks");
});

test("100,000 assets are scrolled through with a few dozen rows in the document", async () => {
  await page.route(/\/v1\/assets\?/, async (route) => {
    const cursor = Number(new URL(route.request().url()).searchParams.get("cursor") ?? 0);
    const assets = Array.from({ length: PAGE_SIZE }, (_, index) => someAsset(cursor + index));
    const next = cursor + PAGE_SIZE;
    await route.fulfill({ json: { assets, next_cursor: next < COUNT ? String(next) : null } });
  });
  await page.goto(`${system().control.url}/assets`);
  await page.getByRole("link", { name: "Gateway 0", exact: true }).waitFor();
  const { frames, maxRows, rows } = await page.evaluate(scrollThrough);
  // Reported, not checked: it says as much of the machine's load as of the page.
  console.log(
    `frames over 50 ms: ${frames.filter((ms) => ms > 50).length} of ${frames.length}; longest ${Math.max(...frames)} ms`,
  );
  expect(rows).toBeGreaterThan(PAGE_SIZE * 5);
  expect(maxRows).toBeLessThan(100);
  await browser.look(page, "assets-many");
});

test("has no barrier of serious impact, no error of a script, and no refusal by the page's policy", () => {
  expect(browser.findings).toEqual([]);
  expect(browser.problems).toEqual([]);
});

function someAsset(index: number): object {
  return {
    uuid: `00000000-0000-7000-8000-${String(index).padStart(12, "0")}`,
    serial_number: `GW-${index}`,
    name: `Gateway ${index}`,
    type: "gateway",
    created_at: 1_790_000_000,
    status: index % 3 === 0 ? "active" : "inactive",
    connected: index % 2 === 0,
    last_seen: 1_790_000_000,
    agent_version: "0.1.0",
    attention: index % 7 === 0 ? ["app_unhealthy", "disk_low"] : [],
  };
}

/** Runs in the page: scrolls for some seconds, and measures the time of each frame. */
async function scrollThrough(): Promise<{ frames: number[]; maxRows: number; rows: number }> {
  const { document, requestAnimationFrame } = globalThis as unknown as BrowserGlobals;
  const table = document.querySelector('[role="table"]');
  if (!table) throw new Error("there is no table");
  const frames: number[] = [];
  let maxRows = 0;
  let last = performance.now();
  for (let frame = 0; frame < 400; frame++) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const now = performance.now();
    frames.push(Math.round(now - last));
    last = now;
    table.scrollTop += 400;
    maxRows = Math.max(maxRows, table.querySelectorAll('[role="row"]').length);
  }
  return { frames, maxRows, rows: Math.round(table.scrollHeight / 44) };
}

interface BrowserGlobals {
  readonly document: { querySelector(selector: string): ScrolledElement | null };
  readonly requestAnimationFrame: (callback: (value: unknown) => void) => void;
}

interface ScrolledElement {
  scrollTop: number;
  readonly scrollHeight: number;
  querySelectorAll(selector: string): { readonly length: number };
}
