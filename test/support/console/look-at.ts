import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { takeScreenshot } from "../browser/screenshot.ts";
import { loadStyles } from "../browser/styles.ts";
import { barriers } from "./barriers.ts";

const SCREENSHOTS = ".cache/screenshots/console";

/** Ways to see a page: the colour scheme and the width of a phone and of a desk. */
const VIEWS = [
  { colorScheme: "light", viewport: { width: 360, height: 740 } },
  { colorScheme: "dark", viewport: { width: 360, height: 740 } },
  { colorScheme: "light", viewport: { width: 1440, height: 900 } },
  { colorScheme: "dark", viewport: { width: 1440, height: 900 } },
] as const;
/**
 * Keeps pictures of the whole page in `.cache/screenshots/console`, in each view, and returns its findings there: serious
 * and critical ones of axe, and whether it has to be scrolled sideways.
 */
export async function lookAtAll(page: Page, name: string): Promise<string[]> {
  await mkdir(SCREENSHOTS, { recursive: true });
  const found: string[] = [];
  await loadStyles(page);
  for (const { colorScheme, viewport } of VIEWS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    const view = `${name}-${colorScheme}-${viewport.width}`;
    // A dialog belongs to the window, not to the page.
    const fullPage = (await page.locator("dialog[open]").count()) === 0;
    await takeScreenshot(page, { path: join(SCREENSHOTS, `${view}.png`), fullPage, animations: "disabled" });
    found.push(
      ...[...(await barriers(page, colorScheme)), ...(await overflows(page))].map((finding) => `${view}: ${finding}`),
    );
  }
  return found;
}

/** Whether the page is wider than the window, so that it has to be scrolled sideways. */
async function overflows(page: Page): Promise<string[]> {
  const isWider = await page.evaluate<boolean>(
    "document.documentElement.scrollWidth > document.documentElement.clientWidth",
  );
  return isWider ? ["the page is wider than the window"] : [];
}
