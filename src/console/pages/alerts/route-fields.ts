import type { AlertRouteBody, AlertRouteBodyInput, QuietHours } from "../../../protocol/api-types.ts";
import { ALERT_SEVERITIES, type AlertCondition, type AlertSeverity } from "../../../protocol/alerts/condition.ts";
import { conditionTitle } from "../../parts/alert-words.ts";
import { formatDuration } from "../../parts/durations.ts";
import { type DurationText, durationText, secondsOf } from "./duration-text.ts";

/** A route as a person fills it in. */
export interface RouteFields {
  readonly channels: readonly string[];
  readonly severities: readonly AlertSeverity[];
  /** `undefined`: all of them. */
  readonly conditions: readonly AlertCondition[] | undefined;
  readonly selector: string;
  readonly forS: DurationText;
  readonly groupWait: DurationText;
  /** Seconds; empty for never. */
  readonly repeatS: string;
  readonly sendsResolved: boolean;
  readonly quietHours: QuietHours | null;
}

export function fieldsOf({
  channels,
  severities = ALERT_SEVERITIES,
  conditions,
  selector = "*",
  for_s: forS = 0,
  group_wait_s: groupWaitS = 2,
  repeat_s: repeatS = null,
  send_resolved: sendsResolved = true,
  quiet_hours: quiet = null,
}: AlertRouteBodyInput): RouteFields {
  return {
    channels,
    severities,
    conditions,
    selector,
    forS: durationText(forS),
    groupWait: durationText(groupWaitS),
    repeatS: repeatS === null ? "" : String(repeatS),
    sendsResolved,
    quietHours: quiet && { ...quiet, except_critical: quiet.except_critical ?? true },
  };
}

/** Returns the route as the API takes it. */
export function routeOf({ severities, conditions, ...fields }: RouteFields): AlertRouteBodyInput {
  return {
    channels: fields.channels,
    ...(severities.length < ALERT_SEVERITIES.length && { severities }),
    ...(conditions !== undefined && { conditions }),
    selector: fields.selector.trim(),
    for_s: secondsOf(fields.forS) ?? 0,
    group_wait_s: secondsOf(fields.groupWait) ?? 0,
    repeat_s: fields.repeatS === "" ? null : Number(fields.repeatS),
    send_resolved: fields.sendsResolved,
    quiet_hours: fields.quietHours,
  };
}

/** What a route tells of, in words: `critical alerts of assets with site=north`. */
export function describeRoute({
  conditions,
  severities,
  selector,
}: Pick<AlertRouteBody, "conditions" | "severities" | "selector">): string {
  const what = conditions === undefined ? "alerts" : conditions.map(conditionTitle).join(", ");
  const which = severities === undefined ? what : `${what} (${severities.join(", ")})`;
  return selector === "*"
    ? conditions === undefined && severities === undefined
      ? "everything"
      : which
    : `${which} of assets with ${selector}`;
}

/** When a route tells, in words: nothing for what is so by default. */
export function describeTimes(route: AlertRouteBody): readonly string[] {
  const {
    for_s: forS,
    group_wait_s: waitS,
    repeat_s: repeatS,
    send_resolved: sendsResolved,
    quiet_hours: quiet,
  } = route;
  return [
    ...(forS > 0 ? [`after ${formatDuration(forS)}`] : []),
    ...(waitS > 2 ? [`waits ${formatDuration(waitS)} for more`] : []),
    ...(repeatS === null ? [] : [`repeated every ${formatDuration(repeatS)}`]),
    ...(sendsResolved ? [] : ["not when resolved"]),
    ...(quiet
      ? [
          `quiet from ${quiet.from} to ${quiet.to} ${quiet.time_zone}${quiet.except_critical ? ", except critical" : ""}`,
        ]
      : []),
  ];
}
