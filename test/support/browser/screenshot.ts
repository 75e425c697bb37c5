import type { Page, PageScreenshotOptions } from "playwright-core";

/** Chromium refuses a capture now and then while it draws a page anew, as after a change of the window's size. */
const REFUSED = "Unable to capture screenshot";
const MAX_TRIES = 20;
const PAUSE_MS = 250;

/** Stores what a page shows. Asks again if the browser could not capture it at that moment; rejects for other errors. */
export async function takeScreenshot(page: Page, options: PageScreenshotOptions): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return void (await page.screenshot(options));
    } catch (error) {
      if (tries === MAX_TRIES || !String(error).includes(REFUSED)) throw error;
      await page.waitForTimeout(PAUSE_MS);
    }
  }
}
