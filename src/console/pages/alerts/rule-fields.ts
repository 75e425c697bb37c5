import type { AlertRule } from "../../../protocol/api-types.ts";
import {
  ALERT_CONDITIONS,
  type AlertCondition,
  type AlertSeverity,
  type ConditionDefault,
} from "../../../protocol/alerts/condition.ts";
import { formatDuration } from "../../parts/durations.ts";
import { type DurationText, durationText, secondsOf } from "./duration-text.ts";

/** What differs from the default, in words. */
export function describeRule({
  condition,
  enabled,
  severity,
  for_s: forS,
  above,
  below,
  older_than: olderThan,
}: AlertRule): string {
  const unit = unitOf(condition);
  const differs = [
    ...(enabled === undefined ? [] : [enabled ? "on" : "off"]),
    ...(severity === undefined ? [] : [severity]),
    ...(forS === undefined ? [] : [`after ${formatDuration(forS)}`]),
    ...(above === undefined ? [] : [`above ${above} ${unit}`]),
    ...(below === undefined ? [] : [`below ${below} ${unit}`]),
    ...(olderThan === undefined ? [] : [`before ${olderThan}`]),
  ];
  return differs.join(", ") || "as by default";
}

/** A rule as a person fills it in: what is empty stays as by default. */
export interface RuleFields {
  readonly condition: AlertCondition;
  readonly selector: string;
  readonly enabled: "" | "on" | "off";
  readonly severity: "" | AlertSeverity;
  readonly forS: DurationText;
  /** Above it, or below it, as the condition is. */
  readonly limit: string;
  readonly olderThan: string;
}

export function ruleFieldsOf(rule: AlertRule): RuleFields {
  return {
    condition: rule.condition,
    selector: rule.selector,
    enabled: rule.enabled === undefined ? "" : rule.enabled ? "on" : "off",
    severity: rule.severity ?? "",
    forS: durationText(rule.for_s),
    limit: String(rule.above ?? rule.below ?? ""),
    olderThan: rule.older_than ?? "",
  };
}

/** Returns what the choice of another condition changes. A rule about one that is off by default is to turn it on. */
export function fieldsOfCondition(condition: AlertCondition): Pick<RuleFields, "condition" | "enabled" | "limit"> {
  return { condition, enabled: ALERT_CONDITIONS[condition].enabled ? "" : "on", limit: "" };
}

/** Returns the rule as the API takes it. */
export function ruleOf({ condition, selector, enabled, severity, forS, limit, olderThan }: RuleFields): AlertRule {
  const seconds = secondsOf(forS);
  const { level }: ConditionDefault = ALERT_CONDITIONS[condition];
  return {
    condition,
    selector: selector.trim(),
    ...(enabled !== "" && { enabled: enabled === "on" }),
    ...(severity !== "" && { severity }),
    ...(seconds !== undefined && { for_s: seconds }),
    ...(limit !== "" && level && { [level.side]: Number(limit) }),
    ...(olderThan.trim() !== "" && condition === "agent_outdated" && { older_than: olderThan.trim() }),
  };
}

/** Unit of the limit of a condition of what devices measure. */
export function unitOf(condition: AlertCondition): string {
  const { level }: ConditionDefault = ALERT_CONDITIONS[condition];
  return level?.metric === "temperature_celsius" ? "°C" : "%";
}
