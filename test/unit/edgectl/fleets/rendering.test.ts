import { expect, test } from "vitest";
import type { Rollout } from "../../../../src/edgectl/api/rollouts.ts";
import {
  renderPrice,
  renderRollout,
  renderSummary,
  renderTargets,
} from "../../../../src/edgectl/views/rollout-view.ts";
import { EFFECTS, neededCommand, waitingText } from "../../../../src/edgectl/views/rollout-words.ts";
import { parseDuration, parseTags } from "../../../../src/edgectl/commands/asset-settings.ts";
import { createTheme } from "../../../../src/lib/terminal/theme.ts";
import { MemoryOutput } from "../../../support/edgectl/memory-output.ts";

const theme = createTheme(new MemoryOutput(), {});

const rollout: Rollout = {
  id: "rol_1",
  fleet: "kiosks",
  retry_of: null,
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
  waiting_for: [],
  waits_for_people: false,
  failures: [],
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

test("what is waited for is said in words, people's part first", () => {
  const waiting = [
    { for: "advance", count: 950 },
    { for: "hold", count: 1, until: 1_800_000_000 },
    { for: "connection", count: 2, since: 1_700_000_000 },
    { for: "conflict", count: 2, message: "The app web on this asset belongs to the fleet b." },
  ];
  const text =
    "for a person to let the next wave begin; 1 held (until 2027-01-15 08:00:00 UTC at the latest), " +
    "2 offline since 2023-11-14 22:13:20 UTC, 2 in conflict (The app web on this asset belongs to the fleet b.)";
  expect(waitingText(waiting)).toBe(text);
  expect(neededCommand(waiting)).toBe("advance");
  expect(renderRollout({ ...rollout, waiting_for: waiting }, theme, undefined)).toContain(`Waiting      ${text}`);
  expect(waitingText([])).toBe("");
});

test("the price lists waves first and in each the largest download, and what is known before", () => {
  const price = {
    revision: 3,
    foreseen: { waiting_for: [{ for: "hold", count: 1 }], refused: 0, left: 1, joined: 0 },
    plan_id: "pln_1",
    expires_at: 1_800_000_000,
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
      { serial_number: "GW-1", asset_name: "a", wave: 1, download_bytes: 2_000_000 },
      { serial_number: "GW-2", asset_name: "b", wave: 2, code: "DataBudgetExceeded", message: "Too much." },
      { serial_number: "GW-3", asset_name: "c", wave: 2, for: "hold", download_bytes: 10_000_000 },
    ],
    { fleet: "kiosks", asksDevices: true },
    theme,
    undefined,
  );
  expect(text.split("\n")).toEqual([
    "Wave 1 of 2: 1 asset",
    "Wave 2 of 2: 3 assets",
    "",
    "SERIAL  NAME  WAVE  DOWNLOAD  WAITS FOR  CODE                MESSAGE",
    "GW-1    a        1   2.00 MB  -          -                   -",
    "GW-3    c        2   10.0 MB  hold       -                   -",
    "GW-2    b        2         -  -          DataBudgetExceeded  Too much.",
    "",
    "To download: 12.0 MB in all, on 2 of 4 assets",
    "Not asked: 1 asset",
    "Waiting as things are now: 1 held. 1 asset left the fleet since it was planned.",
    "Refused, or did not answer: 1 asset",
    "To start just this, until 2027-01-15 08:00:00 UTC:",
    "  edgectl rollouts create kiosks --plan pln_1",
  ]);
});

test("a target says what it waits for, and fits the terminal without control characters", () => {
  const target = {
    asset_id: "u",
    wave: 1,
    state: "waiting",
    for: "budget",
    until: 1_800_000_000,
    direction: "forward",
    attempt: 0,
    since: 1,
    attempts: [],
  };
  const message = `\u001B[31m${"long ".repeat(40)}`;
  const text = renderTargets([{ ...target, asset_name: "Pump", serial_number: "GW-1", message }], theme, 120);
  expect(text).toContain("waiting for budget until 2027-01-15 08:00:00");
  expect(text).not.toContain("\u001B");
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
});

test("a summary names what failed by reason, with the last lines, and how to retry it", () => {
  const attempt = {
    direction: "forward",
    attempt: 1,
    state: "failed",
    code: "CrashLoopBackOff",
    deployment_id: "dep_7",
  };
  const attempts = [{ ...attempt, message: "It crashed.", ended_at: 1_800_000_000, logs: "start\nno such table\n" }];
  const failed = {
    asset_id: "u",
    serial_number: "GW-1",
    asset_name: "Pump\u001B[2J",
    wave: 1,
    direction: "back",
    attempt: 0,
    since: 1,
  };
  const text = renderSummary({ ...rollout, state: "rolled_back", started_at: 60, finished_at: 180 }, [
    { ...failed, state: "rolled_back", attempts },
    { ...failed, state: "refused", code: "DeviceTooOld", message: "Update it.", attempts: [] },
  ]);
  expect(text).toContain("Rollout of revision 3 of the fleet kiosks (rol_1): rolled back");
  expect(text).not.toContain("It retries");
  expect(text).toContain("CrashLoopBackOff: 1 asset\n- GW-1");
  expect(text).toContain("now rolled back, 1 attempt: It crashed. dep_7\n    | start\n    | no such table");
  expect(text).toContain("DeviceTooOld: 1 asset");
  expect(text).toContain("edgectl rollouts retry kiosks rol_1");
  expect(text).not.toContain("\u001B");
});

test("a retry names the rollout that it repeats; one asset is one", () => {
  const retry = { ...rollout, retry_of: "rol_0" };
  expect(renderRollout(retry, theme, 120)).toMatch(/Retry of +rol_0\n/);
  expect(renderRollout(rollout, theme, 120)).not.toContain("Retry of");
  expect(renderSummary(retry, [])).toContain("\nIt retries what failed in rol_0.\n");
  expect(EFFECTS["resume"]?.({ ...rollout, counts: { pending: 1, failed: 1 } })).toBe(
    "Goes on with 1 asset that has not begun, whatever has failed: 1 failed, 1 pending.",
  );
});

test("targets show what they went through, whatever they are by now", () => {
  const past = { direction: "forward", attempt: 1, state: "failed", code: "CrashLoopBackOff", deployment_id: "dep_7" };
  const attempts = [
    { ...past, message: "It crashed.", ended_at: 1_800_000_000, logs: "start\nno such table\u001B[2J\n" },
  ];
  const target = {
    asset_id: "u",
    serial_number: "GW-1",
    asset_name: "Pump",
    wave: 1,
    state: "rolled_back",
    direction: "back",
    attempt: 0,
    since: 1,
    attempts,
  };
  const text = renderTargets([target], theme, 120);
  expect(text).toContain("Pump\n  2027-01-15 08:00:00  attempt 1  failed  CrashLoopBackOff  dep_7  It crashed.");
  expect(text).toContain("    | no such table");
  expect(text).not.toContain("\u001B");
});

test("tries are counted in both directions, also where going back needed no deployment", () => {
  const past = { state: "failed", ended_at: 1 };
  const failed = (direction: string, attempt: number) => ({ ...past, direction, attempt });
  const asset = { asset_id: "u", serial_number: "GW-1", asset_name: "Pump", wave: 1, since: 1 };
  const tries = (direction: string, attempt: number, attempts: readonly ReturnType<typeof failed>[]) => {
    const text = renderTargets(
      [{ ...asset, state: "rolled_back", direction, attempt, attempts: [...attempts] }],
      theme,
      200,
    );
    return / {2}(\S+) {2}1970/.exec(text)?.[1];
  };
  expect(tries("forward", 0, [])).toBe("0");
  expect(tries("forward", 3, [failed("forward", 1), failed("forward", 2)])).toBe("3");
  expect(tries("back", 0, [failed("forward", 1), failed("forward", 2)])).toBe("2");
  expect(tries("back", 2, [failed("forward", 1), failed("back", 1)])).toBe("1+2");
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
