import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ALERT_CONDITIONS, type ConditionDefault } from "../../src/protocol/alerts/condition.ts";
import { alertSettingsInputSchema } from "../../src/protocol/alerts/settings.ts";
import { configSchema } from "../../src/control-plane/config/config.ts";
import { blocksOf } from "../support/documentation.ts";
import { tablesOf } from "../support/repo/markdown.ts";

/** Times as the page says them. */
function timeText(seconds: number): string {
  if (seconds === 0) return "at once";
  return seconds % 3600 === 0 && seconds > 3600 ? `${seconds / 3600} h` : `${seconds / 60} min`;
}

test("the table of docs/alerts.md has each condition, with its default", () => {
  const table = tablesOf(readFileSync("docs/alerts.md", "utf8")).find(({ header }) => header[0] === "condition");
  const rows = (table?.rows ?? []).map(([name, _meaning, severity, fires, resolved, off]) => ({
    name,
    severity,
    fires,
    resolved,
    isOff: off === "off",
  }));
  expect(rows).toEqual(
    Object.entries<ConditionDefault>(ALERT_CONDITIONS).map(([name, { severity, forS, keepFiringForS, enabled }]) => ({
      name,
      severity,
      fires: timeText(forS),
      resolved: timeText(keepFiringForS),
      isOff: !enabled,
    })),
  );
});

test("the service takes each example of a configuration and of settings in docs/alerts.md", () => {
  const examples = blocksOf("docs/alerts.md").flatMap(({ language, text }) =>
    language === "json" ? [JSON.parse(text) as object] : [],
  );
  // What a webhook receives is compared with a real one where it is sent.
  const given = examples.filter((example) => !("timestamp" in example));
  const results = given.map((example) =>
    ("channels" in example ? alertSettingsInputSchema : configSchema).safeParse(example),
  );
  expect(results.map(({ error }) => error)).toEqual(given.map(() => undefined));
  expect(given.length).toBeGreaterThanOrEqual(3);
});
