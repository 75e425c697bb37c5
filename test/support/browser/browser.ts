import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { findProgram } from "../../../scripts/setup/programs.ts";
import { takeScreenshot } from "./screenshot.ts";

const SCREENSHOTS = ".cache/screenshots";

/** The programs of a large page take a while on a busy machine. */
const TIMEOUT_MS = 120_000;

/** A page in the machine's Chromium, without a window. Disposing it stores what it shows, and ends the browser. */
export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  /** Requests to its server that failed, or were refused. */
  readonly failures: readonly string[];
}

/** Opens a page. @param name of the image of it, in `.cache/screenshots` */
export async function openPage(url: string, name: string): Promise<OpenedPage> {
  await using owned = new AsyncDisposableStack();
  const browser = await launchBrowser();
  owned.defer(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(TIMEOUT_MS);
  const failures: string[] = [];
  page.on("requestfailed", (request) => {
    if (request.url().startsWith(url)) failures.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on("response", (response) => {
    if (response.url().startsWith(url) && !response.ok()) failures.push(`${response.url()}: ${response.status()}`);
  });
  await mkdir(SCREENSHOTS, { recursive: true });
  owned.defer(async () => {
    // For a look at it, also after a failure.
    await takeScreenshot(page, { path: join(SCREENSHOTS, `${name}.png`) }).catch(() => undefined);
  });
  await page.goto(url);
  const kept = owned.move();
  return { page, failures, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Starts the machine's Chromium, without a window. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = findProgram("chromium");
  if (executablePath === undefined) throw new Error("chromium is not installed");
  // Its sandbox does not work for root; its shared memory may be small in a container.
  return await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}
