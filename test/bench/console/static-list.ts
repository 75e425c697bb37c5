import type { Page } from "playwright-core";
import type { ConsoleRig, OpenedPage } from "./rig.ts";

export const TABLE = '[role="table"]';
export const ROW_HEIGHT_PX = 44;
/** The page's styles and its table, with those rows only that are in the document. Runs in the page. */
const COPY = `(() => {
  const table = document.querySelector('${TABLE}').cloneNode(true);
  const rows = [...table.querySelectorAll("[data-item]")];
  for (const [index, row] of rows.entries()) row.style.transform = "translateY(" + index * ${ROW_HEIGHT_PX} + "px)";
  rows[0].parentElement.style.height = rows.length * ${ROW_HEIGHT_PX} + "px";
  const styles = [...document.styleSheets].map((sheet) => [...sheet.cssRules].map((rule) => rule.cssText).join("\\n"));
  const root = document.documentElement.cloneNode(false);
  root.innerHTML = "<head><title>Plain</title><style></style></head><body></body>";
  root.querySelector("style").textContent = styles.join("\\n");
  root.querySelector("body").append(table);
  return "<!doctype html>" + root.outerHTML;
})()`;

/**
 * Opens a page without any script that looks like the list which the other page shows, and has as many rows in its document:
 * what a browser needs at least to scroll them.
 */
export async function openStaticList(rig: ConsoleRig, list: Page): Promise<OpenedPage> {
  const body = await list.evaluate<string>(COPY);
  const opened = await rig.open();
  const url = `${rig.url}/plain-list`;
  await opened.page.route(url, (route) => route.fulfill({ contentType: "text/html; charset=utf-8", body }));
  await opened.page.goto(url);
  await opened.page.locator(`${TABLE} a`).first().waitFor();
  return opened;
}
