import { expect, test } from "vitest";
import type { Rollout } from "../../../../src/edgectl/api/rollouts.ts";
import { renderPrice } from "../../../../src/edgectl/views/price-view.ts";
import { renderTargets } from "../../../../src/edgectl/views/rollout-view.ts";
import { EFFECTS } from "../../../../src/edgectl/views/rollout-words.ts";
import { parseDuration, parseTags } from "../../../../src/edgectl/commands/asset-settings.ts";
import { createTheme } from "../../../../src/lib/terminal/theme.ts";
import { MemoryOutput } from "../../../support/edgectl/memory-output.ts";

const theme = createTheme(new MemoryOutput(), {});

const rollout: Rollout = {
  id: "rol_1",
  fleet: "kiosks",
  revision: 3,
  previous_revision: 2,
  state: "running",
  reason: null,
  wave: 1,
  waves: [
    { wave: 1, targets: 50, counts: {}, advance: "manual", soak_s: 60 },
    { wave: 2, targets: 950, counts: {}, advance: "auto", soak_s: 60 },
  ],
  targets: 1_000,
  counts: { failed: 3, succeeded: 38, refused: 2, pending: 950, deploying: 1, waiting: 6 },
  created_at: 1,
  created_by: { kind: "user", id: "usr_1" },
  approved_by: null,
  started_at: 1,
  finished_at: null,
};

test.each([
  ["rollback", "Goes back to revision 2 on 42 assets: 38 succeeded, 3 failed, 1 deploying."],
  ["pause", "Nothing begins any more on 956 assets; 1 asset under way: it ends first."],
  ["advance", "Wave 2 of 2 begins on 950 assets once nothing of wave 1 is under way."],
  ["approve", "Brings revision 3 to 1000 assets, in 2 waves (50, 950)."],
])("%s says what it touches in numbers", (command, text) => {
  expect(EFFECTS[command]?.(rollout)).toBe(text);
});

test("going back from the first revision removes the apps", () => {
  expect(EFFECTS["rollback"]?.({ ...rollout, previous_revision: null })).toMatch(/^Removes the new apps again on 42/);
});

test("the price lists the largest download first, and counts those that were not asked", () => {
  const price = {
    waves: [
      { wave: 1, targets: 1 },
      { wave: 2, targets: 3 },
    ],
    targets: 4,
    asked: 2,
    not_asked: 1,
    refused: 1,
    download_bytes: 12_000_000,
  };
  const text = renderPrice(
    price,
    [
      { asset_name: "a", wave: 1, download_bytes: 2_000_000 },
      { asset_name: "b", wave: 2, code: "DataBudgetExceeded", message: "Too much." },
      { asset_name: "c", wave: 2, download_bytes: 10_000_000 },
    ],
    theme,
    undefined,
  );
  expect(text.split("\n")).toEqual([
    "Wave 1 of 2: 1 asset",
    "Wave 2 of 2: 3 assets",
    "",
    "ASSET  WAVE  DOWNLOAD  CODE                MESSAGE",
    "c         2   10.0 MB  -                   -",
    "a         1   2.00 MB  -                   -",
    "b         2         -  DataBudgetExceeded  Too much.",
    "",
    "To download: 12.0 MB in all, on 2 of 4 assets",
    "Not asked, since not connected: 1 asset",
    "Refused, or did not answer: 1 asset",
  ]);
});

test("a target says what it waits for, and fits the terminal without control characters", () => {
  const target = {
    asset_id: "u",
    wave: 1,
    state: "waiting",
    for: "budget",
    until: 1_800_000_000,
    attempt: 0,
    since: 1,
  };
  const message = `\u001B[31m${"long ".repeat(40)}`;
  const text = renderTargets([{ ...target, asset_name: "Pump", message }], theme, 120);
  expect(text).toContain("waiting for budget until 2027-01-15 08:00:00");
  expect(text).not.toContain("\u001B");
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
});

test("tags are set, emptied and removed; the rest is wrong usage", () => {
  expect(parseTags(["role=kiosk", "beta=", "old-"])).toEqual({ role: "kiosk", beta: "", old: null });
  for (const wrong of ["role", "=x", "a=b c", "a b=c"]) expect(() => parseTags([wrong])).toThrow();
  expect(() => parseTags(["a=1", "a-"])).toThrow(/twice/);
});

test("durations have a unit", () => {
  expect([parseDuration("90m"), parseDuration("24h"), parseDuration("7d")]).toEqual([5_400, 86_400, 604_800]);
  for (const wrong of ["90", "0h", "h", "1w"]) expect(() => parseDuration(wrong)).toThrow();
});
