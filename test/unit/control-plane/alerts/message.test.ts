import { matchPath } from "react-router";
import { expect, test } from "vitest";
import { formatMessage } from "../../../../src/control-plane/alerts/channels/formats.ts";
import { composeMessage } from "../../../../src/control-plane/alerts/message.ts";
import { alertChannelConfigSchema } from "../../../../src/protocol/alerts/channel.ts";
import { ALERT_CONDITIONS, type AlertCondition } from "../../../../src/protocol/alerts/condition.ts";
import { CONSOLE_PATHS } from "../../../../src/protocol/people/console-paths.ts";

const NOW = 1_800_000_000_000;
const PUBLIC_URL = "https://control.example.com";
const CONDITIONS = Object.keys(ALERT_CONDITIONS) as AlertCondition[];

function compose(condition: AlertCondition, publicUrl: string | undefined) {
  const group = {
    id: "grp_1f",
    routeId: "all",
    condition,
    severity: "warning",
    firstSinceMs: NOW,
    openedAtMs: NOW,
    sends: 0,
    sentTotal: 0,
    lastSentAtMs: undefined,
  } as const;
  const counts = { total: 3, open: 3, unacknowledged: 3 };
  return composeMessage({ accountId: "acc_1", group, counts, names: ["GW-1"] }, "firing", publicUrl, NOW);
}

test.each(CONDITIONS)("a message about %s leads to its group in the console", (condition) => {
  const { url } = compose(condition, PUBLIC_URL);
  expect(url).toBe(`${PUBLIC_URL}/alerts?group=grp_1f`);
  expect(CONSOLE_PATHS.some((path) => matchPath(path, new URL(String(url)).pathname))).toBe(true);
});

test.each([
  { kind: "webhook", url: "https://hooks.example.com/", secrets: [`whsec_${"A".repeat(32)}`] },
  { kind: "slack", url: "https://hooks.example.com/" },
  { kind: "mattermost", url: "https://hooks.example.com/" },
  { kind: "teams", url: "https://hooks.example.com/" },
  { kind: "pagerduty", routing_key: "R0" },
  { kind: "ntfy", url: "https://ntfy.example.com/topic" },
])("$kind gets the link, and none of a service that does not know its address", (channel) => {
  const config = alertChannelConfigSchema.parse(channel);
  if (config.kind === "email") throw new Error("mails are not posted");
  const bodyOf = (publicUrl: string | undefined): string =>
    formatMessage(config, compose("disk_low", publicUrl), "msg_1", NOW).body;
  expect(bodyOf(PUBLIC_URL)).toContain(`${PUBLIC_URL}/alerts?group=grp_1f`);
  expect(bodyOf(undefined)).not.toMatch(/alerts\?group|"Open"|\|Open/);
});
