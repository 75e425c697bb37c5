import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launchBrowser } from "../browser/browser.ts";
import { takeScreenshot } from "../browser/screenshot.ts";
import { loadStyles } from "../browser/styles.ts";
import { barriers } from "./barriers.ts";

const SCREENSHOTS = ".cache/screenshots";
/** Pages answer in milliseconds; a busy machine takes longer. */
const TIMEOUT_MS = 120_000;

const WIDE = { width: 1440, height: 900 };
export const PHONE = { width: 360, height: 780 };

/** A person's browser in a test: pages, screenshots in both themes, and what is wrong with them. */
export class ConsoleBrowser implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #contexts: BrowserContext[] = [];
  /** Findings of axe with serious or critical impact. */
  readonly findings: string[] = [];
  /** Errors of scripts, and refusals by the page's policy. */
  readonly problems: string[] = [];

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<ConsoleBrowser> {
    await mkdir(SCREENSHOTS, { recursive: true });
    return new ConsoleBrowser(await launchBrowser());
  }

  /** Opens a page with storage and cookies of its own. */
  async open(url: string, viewport: { readonly width: number; readonly height: number } = WIDE): Promise<Page> {
    const context = await this.#browser.newContext({ viewport, colorScheme: "light", reducedMotion: "reduce" });
    this.#contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on("pageerror", (error) => this.problems.push(String(error)));
    page.on("console", (message) => {
      // Chromium writes a line for every response of 400 and above.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        this.problems.push(message.text());
    });
    await page.goto(url);
    return page;
  }

  /** Takes screenshots in both themes and looks for barriers in both. @param name such as `journey-01-set-up` */
  async look(page: Page, name: string): Promise<void> {
    await loadStyles(page);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
      const file = `console-${name}-${colorScheme}.png`;
      await takeScreenshot(page, { path: join(SCREENSHOTS, file), fullPage: true });
      for (const finding of await barriers(page, colorScheme)) this.findings.push(`${name} ${colorScheme}: ${finding}`);
    }
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const context of this.#contexts) await context.close().catch(() => undefined);
    await this.#browser.close();
  }
}
