import type { Page } from "playwright-core";

// One that did not arrive is there, without rules.
const LOAD_AGAIN = `(() => {
  const hasRules = (link) => {
    try { return link.sheet.cssRules.length > 0; } catch { return false; }
  };
  const links = [...document.querySelectorAll('link[rel="stylesheet"]')].filter((link) => !hasRules(link));
  return Promise.all(links.map((link) => new Promise((resolve) => {
    const again = link.cloneNode();
    again.onload = () => resolve();
    again.onerror = () => resolve();
    link.replaceWith(again);
  }))).then(() => undefined);
})()`;

/**
 * Loads stylesheets that did not arrive with the page: Chromium gives up what it loads when a network of the machine changes, as
 * containers that start and end make it. One that cannot be loaded stays out, as that of a page that is opened while the service is
 * stopped.
 */
export async function loadStyles(page: Page): Promise<void> {
  await page.evaluate<void>(LOAD_AGAIN);
}
