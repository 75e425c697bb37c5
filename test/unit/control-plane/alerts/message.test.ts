import { matchPath } from "react-router";
import { expect, test } from "vitest";
import { composeMessage } from "../../../../src/control-plane/alerts/message.ts";
import { readFilters } from "../../../../src/console/pages/assets/filters.ts";
import { ALERT_CONDITIONS, type AlertCondition } from "../../../../src/protocol/alerts/condition.ts";
import { CONSOLE_PATHS } from "../../../../src/protocol/people/console-paths.ts";

const NOW = 1_800_000_000_000;
const UUID = "7f8c2f8e-0000-4000-8000-000000000001";
const CONDITIONS = Object.keys(ALERT_CONDITIONS) as AlertCondition[];

function linkOf(condition: AlertCondition, total: number, publicUrl: string | undefined): string | null {
  const group = {
    id: "grp_1",
    routeId: "all",
    condition,
    severity: "warning",
    firstSinceMs: NOW,
    openedAtMs: NOW,
    sends: 0,
    sentTotal: 0,
    lastSentAtMs: undefined,
  } as const;
  const counts = { total, open: total, unacknowledged: total };
  const due = { accountId: "acc_1", group, counts, names: Array<string>(total).fill("GW-1"), subjectId: UUID };
  return composeMessage(due, "firing", publicUrl, NOW).url;
}

test.each(CONDITIONS)("a message about %s leads to a page that the console has, or has no link", (condition) => {
  for (const total of [1, 3]) {
    const link = linkOf(condition, total, "https://control.example.com");
    expect(link === null).toBe(condition === "channel_disabled");
    if (link === null) continue;
    const { pathname, searchParams } = new URL(link);
    expect(CONSOLE_PATHS.some((path) => matchPath(path, pathname))).toBe(true);
    // The page knows every filter of the link.
    for (const [name, value] of searchParams) expect(readFilters(searchParams)).toMatchObject({ [name]: value });
  }
  expect(linkOf(condition, 1, undefined)).toBeNull();
});

test("one asset is linked to itself, several to the list of those it may be", () => {
  const url = "https://control.example.com";
  expect(linkOf("disk_low", 1, url)).toBe(`${url}/assets/${UUID}`);
  expect(linkOf("disk_low", 2, url)).toBe(`${url}/assets?attention=disk_low`);
  expect(linkOf("device_offline", 2, url)).toBe(`${url}/assets?connected=false`);
});
