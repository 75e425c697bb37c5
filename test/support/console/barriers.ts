import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults, RunOptions } from "axe-core";
import type { Page } from "playwright-core";

type ColorScheme = "light" | "dark";

/** All rules in one scheme, and in the other those that depend on colours. */
const OPTIONS: Readonly<Record<ColorScheme, RunOptions>> = {
  light: { resultTypes: ["violations"] },
  dark: { resultTypes: ["violations"], runOnly: ["color-contrast", "link-in-text-block"] },
};

/**
 * Serious and critical findings of axe on what the page shows in this colour scheme. axe is evaluated by the debugger, which
 * the page's policy does not restrict.
 */
export async function barriers(page: Page, scheme: ColorScheme): Promise<string[]> {
  axe ??= await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(OPTIONS[scheme])})`);
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`,
    );
}

let axe: string | undefined;
