import { matchPath } from "react-router";
import { expect, test } from "vitest";
import { formatMessage } from "../../../../src/control-plane/alerts/channels/formats.ts";
import { composeMessage, detailsOf, testMessage, timesOf } from "../../../../src/control-plane/alerts/message.ts";
import { alertChannelConfigSchema } from "../../../../src/protocol/alerts/channel.ts";
import { alertWebhookSchema } from "../../../../src/protocol/alerts/webhook.ts";
import { ALERT_CONDITIONS, type AlertCondition } from "../../../../src/protocol/alerts/condition.ts";
import { CONSOLE_PATHS } from "../../../../src/protocol/people/console-paths.ts";

const NOW = 1_800_000_000_000;
const PUBLIC_URL = "https://control.example.com";
const CONDITIONS = Object.keys(ALERT_CONDITIONS) as AlertCondition[];

const told = (number: number, cause?: string) => ({
  id: `alr_${number}`,
  state: "firing" as const,
  subject: { kind: "asset" as const, id: `uuid-${number}`, name: `Pump ${number}`, serialNumber: `SN-${number}` },
  sinceMs: NOW - 1_500,
  firedAtMs: NOW,
  resolvedAtMs: undefined,
  cause,
});

function compose(condition: AlertCondition, publicUrl: string | undefined, count = 1, total = 3) {
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
  const counts = { total, open: total, unacknowledged: total };
  const alerts = Array.from({ length: count }, (_, at) => told(at + 1));
  return composeMessage({ accountId: "acc_1", group, counts }, alerts, "firing", publicUrl, NOW);
}

test.each(CONDITIONS)("a message about %s leads to its group in the console", (condition) => {
  const { url } = compose(condition, PUBLIC_URL);
  expect(url).toBe(`${PUBLIC_URL}/alerts?group=grp_1f`);
  expect(CONSOLE_PATHS.some((path) => matchPath(path, new URL(String(url)).pathname))).toBe(true);
});

test("a message about a failed deployment says of which app, and why, without what could forge a line", () => {
  const group = { id: "grp_1f", routeId: "all", condition: "deployment_failed", severity: "warning" } as const;
  const times = { firstSinceMs: NOW, openedAtMs: NOW, sends: 0, sentTotal: 0, lastSentAtMs: undefined };
  const textOf = (...causes: (string | undefined)[]) => {
    const counts = { total: causes.length, open: causes.length, unacknowledged: causes.length };
    const alerts = causes.map((cause, at) => told(at + 1, cause));
    return composeMessage(
      { accountId: "acc_1", group: { ...group, ...times }, counts },
      alerts,
      "firing",
      undefined,
      NOW,
    ).text;
  };
  expect(textOf("kiosk-ui, CrashLoopBackOff")).toBe("Deployment failed: Pump 1 (kiosk-ui, CrashLoopBackOff)");
  expect(textOf(undefined)).toBe("Deployment failed: Pump 1");
  expect(textOf("a, Internal", undefined)).toBe("Deployment failed: 2 assets (Pump 1 (a, Internal), Pump 2)");
  expect(textOf("a\r\nBcc: x")).toBe("Deployment failed: Pump 1 (a  Bcc: x)");
  expect(textOf("a".repeat(1_000)).length).toBeLessThan(200);
});

test("a device that was away twice is one", () => {
  const message = compose("device_offline", undefined, 2, 2);
  expect(message.text).toBe("Device offline: 2 assets (Pump 1, Pump 2)");
  const again = told(1);
  const group = { id: "grp_1f", routeId: "all", condition: "device_offline", severity: "critical" } as const;
  const times = { firstSinceMs: NOW, openedAtMs: NOW, sends: 0, sentTotal: 0, lastSentAtMs: undefined };
  const counts = { total: 2, open: 0, unacknowledged: 0 };
  const due = { accountId: "acc_1", group: { ...group, ...times }, counts };
  const { text, total } = composeMessage(due, [again, { ...again, id: "alr_2" }], "resolved", undefined, NOW);
  expect([text, total]).toEqual(["Resolved: Device offline: Pump 1", 2]);
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

const webhook = {
  kind: "webhook" as const,
  url: "https://hooks.example.com/",
  secrets: [`whsec_${"A".repeat(32)}`],
};

test.each([
  ["400 devices", compose("device_offline", PUBLIC_URL, 50, 400)],
  ["a rollout", compose("rollout_stopped", undefined)],
  ["a test of the channel", testMessage("acc_1", "ops", NOW)],
])("a webhook about %s is as the API documents it, within its bounds", (_name, message) => {
  const body: unknown = JSON.parse(formatMessage(webhook, message, "msg_1", NOW).body);
  expect(alertWebhookSchema.parse(body)).toEqual(body);
});

test("a webhook names each alert and its device by their ids", () => {
  const { body } = formatMessage(webhook, compose("device_offline", PUBLIC_URL, 2, 2), "msg_1", NOW);
  const { data } = alertWebhookSchema.parse(JSON.parse(body));
  expect(data.alerts[1]).toEqual({
    id: "alr_2",
    state: "firing",
    subject: { kind: "asset", id: "uuid-2", name: "Pump 2", serial_number: "SN-2" },
    since: NOW / 1000 - 2,
    fired_at: NOW / 1000,
    resolved_at: null,
  });
});

test.each([
  { kind: "slack", url: "https://hooks.example.com/" },
  { kind: "mattermost", url: "https://hooks.example.com/" },
  { kind: "teams", url: "https://hooks.example.com/" },
  { kind: "pagerduty", routing_key: "R0" },
  { kind: "ntfy", url: "https://ntfy.example.com/topic" },
])("$kind names devices by serial number and ids, some of 400, and how many more there are", (channel) => {
  const config = alertChannelConfigSchema.parse(channel);
  if (config.kind === "email") throw new Error("mails are not posted");
  const body = formatMessage(config, compose("device_offline", PUBLIC_URL, 50, 400), "msg_1", NOW).body.replaceAll(
    "\\",
    "",
  );
  for (const text of ["SN-3", "uuid-3", "alr_3"]) expect(body).toContain(text);
  expect(body).toMatch(/and 39[07] more|"total":400/);
  expect(Buffer.byteLength(body)).toBeLessThan(16_384);
});

test("a message says since when it has been so, and at the end from when until when; a test says neither", () => {
  const firing = compose("device_offline", PUBLIC_URL);
  expect(timesOf(firing)).toEqual(["Since 2027-01-15 08:00 UTC"]);
  const [one] = firing.alerts;
  if (!one) throw new Error("no alert");
  const over = { ...firing, type: "resolved" as const, at: NOW / 1000 + 7_200 };
  // The end is told later where there are quiet hours.
  const ended = (seconds: number) => ({ ...one, resolved_at: NOW / 1000 + seconds });
  const alerts = [ended(600), ended(1_800), ended(900)];
  expect(timesOf({ ...over, alerts })).toEqual(["From 2027-01-15 08:00 to 2027-01-15 08:30 UTC"]);
  expect(timesOf({ ...over, alerts: [] })).toEqual(["From 2027-01-15 08:00 to 2027-01-15 10:00 UTC"]);
  expect(timesOf(testMessage("acc_1", "ops", NOW))).toEqual([]);
});

const detailsOfOne = (kind: "asset" | "channel", id: string, name: string, serial_number: string | null) =>
  detailsOf(
    {
      total: 1,
      alerts: [
        {
          id: "alr_1",
          state: "firing",
          subject: { kind, id, name, serial_number },
          since: 1,
          fired_at: 1,
          resolved_at: null,
        },
      ],
    },
    1,
  );

test("a name is not repeated where it is the serial number or the id", () => {
  expect(detailsOfOne("asset", "uuid-1", "SN-1", "SN-1")).toEqual(["SN-1: asset uuid-1, alert alr_1"]);
  expect(detailsOfOne("channel", "ops", "ops", null)).toEqual(["ops: alert alr_1"]);
});
