import { expect, it } from "vitest";
import { channelOf } from "../../../src/console/pages/alerts/channel-fields.ts";
import { durationText, secondsOf } from "../../../src/console/pages/alerts/duration-text.ts";
import { describeTimes, fieldsOf, routeOf } from "../../../src/console/pages/alerts/route-fields.ts";
import {
  describeRule,
  fieldsOfCondition,
  ruleFieldsOf,
  ruleOf,
} from "../../../src/console/pages/alerts/rule-fields.ts";
import type { AlertRouteBody, AlertRule } from "../../../src/protocol/api-types.ts";
import { alertChannelInputSchema } from "../../../src/protocol/alerts/channel.ts";
import { alertRouteBodySchema, alertRuleSchema } from "../../../src/protocol/alerts/settings.ts";

/** As the API sends them: what is absent is not there. */
const asSent = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const someRoute = (route: unknown) => asSent(alertRouteBodySchema.parse(route)) as AlertRouteBody;
const someRule = (rule: unknown) => asSent(alertRuleSchema.parse(rule)) as AlertRule;

const EMPTY = { url: "", to: "", secrets: "", key: "", removesToken: false } as const;
const SECRET = `whsec_${"A".repeat(32)}`;

it.each([
  [
    { kind: "email", to: "a@example.com\nb@example.com, c@example.com" },
    { to: ["a@example.com", "b@example.com", "c@example.com"] },
  ],
  [{ kind: "webhook" }, {}],
  [
    { kind: "webhook", url: " https://hooks.example.com/a ", secrets: `${SECRET}\n` },
    { url: "https://hooks.example.com/a", secrets: [SECRET] },
  ],
  [{ kind: "teams", url: "https://hooks.example.com/b", key: "none" }, { url: "https://hooks.example.com/b" }],
  [{ kind: "pagerduty" }, {}],
  [{ kind: "pagerduty", key: "R0" }, { routing_key: "R0" }],
  [{ kind: "ntfy" }, {}],
  [{ kind: "ntfy", removesToken: true }, { token: null }],
  [{ kind: "ntfy", key: "tk_1", removesToken: true }, { token: "tk_1" }],
] as const)("a channel has what was typed, and what is empty stays as it was: %o", (typed, expected) => {
  const channel = channelOf({ ...EMPTY, ...typed });
  expect(channel).toEqual({ kind: typed.kind, ...expected });
  expect(alertChannelInputSchema.safeParse(channel).success).toBe(true);
});

it.each([
  { channels: ["ops"] },
  {
    channels: ["ops", "mail"],
    severities: ["critical"],
    conditions: ["disk_low", "device_offline"],
    selector: "site=north",
    for_s: 90,
    group_wait_s: 600,
    repeat_s: 5400,
    send_resolved: false,
    quiet_hours: { from: "20:00", to: "07:00", time_zone: "Europe/Berlin", except_critical: false },
  },
])("a route that is opened and saved is the same", (route) => {
  const before = someRoute(route);
  expect(someRoute(routeOf(fieldsOf(before)))).toEqual(before);
});

it.each([
  { condition: "device_offline" },
  { condition: "drifted", enabled: true, for_s: 0 },
  { condition: "temperature_high", selector: "site=oven", above: 95, for_s: 900, severity: "critical", enabled: false },
  { condition: "signal_low", selector: "*", below: 30, enabled: true },
  { condition: "agent_outdated", older_than: "1.4.0", for_s: 30 * 86_400 },
])("a rule that is opened and saved is the same", (rule) => {
  const before = someRule(rule);
  expect(ruleOf(ruleFieldsOf(before))).toEqual(before);
});

it("a rule about a condition that is off by default turns it on, unless a person says otherwise", () => {
  const fields = ruleFieldsOf(someRule({ condition: "temperature_high", above: 95 }));
  const weak = { ...fields, ...fieldsOfCondition("signal_low") };
  expect(ruleOf(weak)).toEqual({ condition: "signal_low", selector: "*", enabled: true });
  expect(ruleOf({ ...weak, ...fieldsOfCondition("disk_low") })).toEqual({ condition: "disk_low", selector: "*" });
});

it("a rule of another condition has no limit of the one before", () => {
  const fields = ruleFieldsOf(someRule({ condition: "temperature_high", above: 95 }));
  expect(ruleOf({ ...fields, condition: "disk_low" })).toEqual({ condition: "disk_low", selector: "*" });
  const agents = ruleFieldsOf(someRule({ condition: "agent_outdated", older_than: "1.4.0" }));
  expect(ruleOf({ ...agents, condition: "disk_low" })).toEqual({ condition: "disk_low", selector: "*" });
});

it.each([
  [0, "0", "60"],
  [45, "45", "1"],
  [90, "90", "1"],
  [1800, "30", "60"],
  [7200, "2", "3600"],
  [172_800, "2", "86400"],
])("%i seconds are %s of a unit that fits", (seconds, number, unit) => {
  expect(durationText(seconds)).toEqual({ number, unit });
  expect(secondsOf({ number, unit })).toBe(seconds);
});

it("nothing typed is no duration", () => {
  expect(secondsOf(durationText(undefined))).toBeUndefined();
  expect(secondsOf({ number: "0.5", unit: "3600" })).toBe(1800);
});

it("routes and rules say in words what is not as by default", () => {
  const route = { channels: ["ops"], for_s: 1800, repeat_s: 14_400, send_resolved: false };
  expect(describeTimes(someRoute({ channels: ["ops"] }))).toEqual([]);
  expect(describeTimes(someRoute(route))).toEqual(["after 30 min", "repeated every 4 h", "not when resolved"]);
  expect(describeRule(someRule({ condition: "temperature_high", above: 95, enabled: true }))).toBe("on, above 95 °C");
  expect(describeRule(someRule({ condition: "signal_low", below: 30 }))).toBe("below 30 %");
});
