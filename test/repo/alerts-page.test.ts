import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ALERT_CONDITIONS, type ConditionDefault } from "../../src/protocol/alerts/condition.ts";
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
