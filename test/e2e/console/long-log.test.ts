import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConsoleBrowser } from "../../support/console/browser.ts";
import { setUpLink } from "../../support/console/console-system.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { sleeperImage } from "../../support/images.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { sharedSystem } from "../../support/system/test-system.ts";

/** Lines of about 100 bytes that are written at once: 50 MB. */
const LINES = 500_000;
const LINES_OF_CHUNK = 150;
/** Lines that a real app writes at once: far more than the device sends. */
const WRITTEN = 50_000;
/** Lines that are sent afterwards, each chunk when the one before is shown: more than the page keeps. */
const LAST_CHUNKS = 6;
const LAST_LINES_OF_CHUNK = 1000;
/** Rows that the page keeps. */
const KEPT_ROWS = 5_000;
/** What a page may need more than before, with a log of any length. */
const MAX_GROWTH_BYTES = 24 * 1024 * 1024;
const FILLING = "<b>".padStart(90);

/** Waits until it may write, and writes. */
const WRITE = [
  "echo ready",
  "while [ ! -e /data/go ]; do /bin/busybox sleep 0.1; done",
  `/bin/busybox awk 'BEGIN { for (i = 1; i <= ${WRITTEN}; i++) print "line " i "${FILLING}" }'`,
];
/** Writes a line now and then, until it may end. */
const LIVE_ON = "while [ ! -e /data/end ]; do /bin/busybox sleep 1; i=$((i + 1)); echo alive $i; done";
const SCRIPT = [...WRITE, "echo this is the end", "while true; do /bin/busybox sleep 1000; done"].join("\n");

const system = sharedSystem(async () => {
  const socketPath = await dockerSocket();
  return socketPath === undefined ? {} : { engine: { socketPath } };
});

const owned = new AsyncDisposableStack();
let browser: ConsoleBrowser;
let page: Page;
let debug: CDPSession;
beforeAll(async () => {
  browser = owned.use(await ConsoleBrowser.launch());
  page = await browser.open(await setUpLink(system()));
  await page.getByLabel("Your email address").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill("correct horse battery staple");
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  debug = await page.context().newCDPSession(page);
});
afterAll(() => owned.disposeAsync());

test("an app writes more than its device sends: the newest line is shown, and how many were left out", async () => {
  const name = system().name("loud");
  const data = join(system().directory, "loud");
  await mkdir(data);
  const { final } = await system().deploy({
    name,
    image: await system().load(await sleeperImage()),
    entrypoint: ["/bin/sh"],
    command: ["-c", SCRIPT],
    // An engine that starts another file under its reader may pass over what was in the one before.
    log: { max_bytes: 100_000_000, max_files: 1 },
    volumes: [{ local: data, target: "/data" }],
  });
  expect(final).toMatchObject({ status: "Success" });
  await open(system().asset.uuid, name);
  const log = page.getByRole("log");
  await log.getByText("ready", { exact: true }).waitFor();
  writeFileSync(join(data, "go"), "");
  await log.getByText("this is the end").waitFor();
  expect(await log.locator("b").count()).toBe(0);
  await browser.look(page, "log-left-out");
  const rows = await page.evaluate(readRows);
  expect(gapsOf(rows)).toEqual([]);
});

test("an app fills several files of its log: later lines and its last one are shown, whatever the engine passed over", async () => {
  const name = system().name("ends");
  const data = join(system().directory, "ends");
  await mkdir(data);
  const { final } = await system().deploy({
    name,
    image: await system().load(await sleeperImage()),
    entrypoint: ["/bin/sh"],
    command: ["-c", [...WRITE, LIVE_ON, "echo this is why it ends", "exit 3"].join("\n")],
    log: { max_bytes: 500_000, max_files: 2 },
    restart_policy: "no",
    volumes: [{ local: data, target: "/data" }],
  });
  expect(final).toMatchObject({ status: "Success" });
  await open(system().asset.uuid, name);
  const log = page.getByRole("log");
  await log.getByText("ready", { exact: true }).waitFor();
  writeFileSync(join(data, "go"), "");
  await log.getByText("alive 15", { exact: true }).waitFor();
  writeFileSync(join(data, "end"), "");
  await log.getByText("this is why it ends").waitFor();
});

test("50 MB arrive: the page answers, keeps its bounds, and says how many lines are no longer kept", async () => {
  const { uuid, deviceToken } = await system().control.addAsset(system().account.accountId, `${system().prefix}loud`);
  await using device = await FakeDevice.connect(`ws://127.0.0.1:${system().control.port}/v1/agent`, deviceToken);
  await open(uuid, "web");
  const { query_id: id } = await device.next("query");
  let sent = 0;
  const send = (count: number): void => {
    const lines = Array.from({ length: count }, () => lineOf(++sent));
    device.answer(id, { lines });
  };
  send(1);
  const log = page.getByRole("log");
  await log.getByText("line 1 ").waitFor();
  const before = await heapBytes();
  const sending = (async () => {
    for (let chunk = 0; chunk < LINES / LINES_OF_CHUNK; chunk++) {
      send(LINES_OF_CHUNK);
      await device.flushed();
    }
  })();
  // It answers in the middle of it.
  await page.getByText("earlier ones no longer kept").waitFor();
  await page.getByRole("checkbox", { name: "Times" }).uncheck();
  expect(await page.getByRole("checkbox", { name: "Times" }).isChecked()).toBe(false);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("Paused: nothing is read").waitFor();
  await page.getByRole("button", { name: "Go on" }).click();
  await sending;
  for (let chunk = 0; chunk < LAST_CHUNKS; chunk++) {
    send(LAST_LINES_OF_CHUNK);
    await log.getByText(`line ${sent} `).waitFor();
  }
  const { shown, dropped } = await counts();
  expect({ shown, all: shown + dropped }).toEqual({ shown: KEPT_ROWS, all: sent });
  expect(await log.locator("[data-index]").count()).toBeLessThan(200);
  expect((await heapBytes()) - before).toBeLessThan(MAX_GROWTH_BYTES);
  expect(await log.locator("b").count()).toBe(0);
  await browser.look(page, "log-long");
});

test("has no barrier of serious impact, no error of a script, and no refusal by the page's policy", () => {
  expect(browser.findings).toEqual([]);
  expect(browser.problems).toEqual([]);
});

/** Places where lines are missing that no row counts, or where a row counts too many. */
function gapsOf(rows: readonly string[]): string[] {
  const gaps: string[] = [];
  let next = 1;
  for (const row of rows) {
    const leftOut = Number(/^([\d,]+) lines? left out/.exec(row)?.[1]?.replaceAll(",", "") ?? 0);
    next += leftOut;
    if (leftOut > 0) continue;
    const number = row.endsWith("this is the end") ? WRITTEN + 1 : Number(/line (\d+)/.exec(row)?.[1] ?? next);
    if (number !== next) gaps.push(`${next} to ${number}`);
    if (row.includes("line ") || number !== next) next = number + 1;
  }
  return gaps;
}

const open = (asset: string, app: string) => page.goto(`${system().control.url}/assets/${asset}/apps/${app}/log`);

const lineOf = (number: number) => ({
  stream: "stdout",
  time: new Date(1_790_000_000_000 + number).toISOString(),
  text: `line ${number} ${FILLING}`,
});

/** Runs in the page: scrolls through the log from its first row to its last, and returns their texts. */
async function readRows(): Promise<string[]> {
  const { document, requestAnimationFrame } = globalThis as unknown as BrowserGlobals;
  const log = document.querySelector('[role="log"]');
  if (!log) throw new Error("there is no log");
  const rows = new Map<number, string>();
  for (let top = 0; ; top += log.clientHeight / 2) {
    log.scrollTop = top;
    for (let frame = 0; frame < 3; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
    for (const row of log.querySelectorAll("[data-index]"))
      rows.set(Number(row.dataset["index"]), row.textContent.trim());
    if (top > log.scrollHeight) return [...rows].toSorted(([a], [b]) => a - b).map(([, text]) => text);
  }
}

interface BrowserGlobals {
  readonly document: { querySelector(selector: string): ScrolledElement | null };
  readonly requestAnimationFrame: (callback: (value: unknown) => void) => void;
}

interface ScrolledElement {
  scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
  querySelectorAll(
    selector: string,
  ): Iterable<{ readonly dataset: Record<string, string>; readonly textContent: string }>;
}

/** What the page says of its lines. */
async function counts(): Promise<{ readonly shown: number; readonly dropped: number }> {
  const text = (await page.getByText(/lines shown/).textContent()) ?? "";
  const [, shown = "", dropped = "0"] = /([\d,]+) lines shown(?:, ([\d,]+) earlier)?/.exec(text) ?? [];
  return { shown: Number(shown.replaceAll(",", "")), dropped: Number(dropped.replaceAll(",", "")) };
}

/** What the page's script holds, without what is only waiting to be cleaned up. */
async function heapBytes(): Promise<number> {
  await debug.send("HeapProfiler.collectGarbage");
  return (await debug.send("Runtime.getHeapUsage")).usedSize;
}
