import type { AttentionReason } from "../assets/attention.ts";
import type { ReportedHealthMetric } from "../link/device-health.ts";

/** How much an alert matters. The order is from most to least. */
export const ALERT_SEVERITIES = ["critical", "warning", "info"] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** What an alert is about. */
export type AlertSubjectKind = "asset" | "rollout" | "api_key" | "channel" | "service";

/** Default of a condition. */
export interface ConditionDefault {
  readonly subject: AlertSubjectKind;
  /** Text for people, before the names of the subjects. */
  readonly title: string;
  readonly severity: AlertSeverity;
  /** How long it must hold before an alert fires, in seconds. */
  readonly forS: number;
  /** How long it must be over before the alert is resolved, in seconds, so that what comes and goes is one alert. */
  readonly keepFiringForS: number;
  /** Whether it is on unless a rule of the account says otherwise. */
  readonly enabled: boolean;
  readonly level?: LevelLimit;
}

/** It holds while the mean of 15 minutes is beyond this, in whole percents or degrees. */
export interface LevelLimit {
  readonly metric: ReportedHealthMetric;
  /** On which side of the limit it holds. */
  readonly side: "above" | "below";
  readonly limit: number;
  /**
   * The widest limit that a rule may set: so the service looks at few devices. The index of both databases has it in its condition,
   * so after a release it changes by a migration only.
   */
  readonly widest: number;
}

/** How long the newest levels of a device are at hand: a rule of them cannot ask for more. */
export const MAX_LEVELS_S = 6 * 3_600;
/** A level that was beyond its limit for long enough counts until it is back by this: it may lie about the limit for hours. */
export const LEVEL_MARGIN = 3;

type AssetCondition = Exclude<AttentionReason, "not_seen">;

const asset = (title: string, severity: AlertSeverity, forS = 0, keepFiringForS = 0, enabled = true) =>
  ({ subject: "asset", title, severity, forS, keepFiringForS, enabled }) as const;

/** Conditions of assets whose name is also the reason for which the asset needs attention. */
const ATTENTION_CONDITIONS = {
  cloned_identity: asset("Identity used by two devices", "critical"),
  device_replaced: asset("Device replaced", "warning"),
  acceptance: asset("Device waits to be accepted", "info", 900),
  app_missing: asset("App missing", "warning", 120, 300),
  app_stopped: asset("App stopped", "warning", 120, 300),
  app_restarting: asset("App restarting", "warning", 120, 600),
  app_unhealthy: asset("App unhealthy", "warning", 120, 300),
  app_not_repaired: asset("App no longer repaired", "warning", 0, 300),
  drifted: asset("Differs from its fleet", "warning", 300, 300, false),
  stopped_by_hand: asset("App stopped by a person", "info", 0, 0, false),
  deployment_failed: asset("Deployment failed", "warning"),
  update_waiting: asset("Deployment waits for the device", "info", 86_400, 0, false),
  engine_trouble: asset("Container engine trouble", "warning", 120, 300),
  state_not_writable: asset("Disk not writable", "critical", 60, 300),
  disk_low: asset("Disk space low", "warning", 300, 900),
  clock_wrong: asset("Clock wrong", "warning", 900, 300),
  data_budget_spent: asset("Data budget spent", "warning"),
  data_budget_low: asset("Data budget of the month spent, or will be", "warning"),
  data: asset("Data plan spent, or will be", "warning"),
} as const satisfies Readonly<Record<AssetCondition, ConditionDefault>>;

/** @param widest the widest limit of a rule */
const level = (
  title: string,
  [metric, side, limit, widest]: readonly [ReportedHealthMetric, LevelLimit["side"], limit: number, widest: number],
  forS: number,
  enabled = true,
) => ({ ...asset(title, "warning", forS, 900, enabled), level: { metric, side, limit, widest } }) as const;

/** Conditions of what devices measure. */
const LEVEL_CONDITIONS = {
  temperature_high: level("Temperature high", ["temperature_celsius", "above", 80, 60], 900),
  temperature_low: level("Temperature low", ["temperature_celsius", "below", -10, 10], 900, false),
  memory_high: level("Memory nearly used up", ["memory_percent", "above", 95, 70], 1800),
  swap_high: level("Swap nearly used up", ["swap_percent", "above", 90, 50], 1800, false),
  disk_high: level("Disk nearly full", ["disk_percent", "above", 90, 70], 900, false),
  inodes_high: level("Inodes nearly used up", ["inodes_percent", "above", 90, 70], 900),
  cpu_high: level("Processors busy", ["cpu_percent", "above", 95, 70], 3600, false),
  cpu_throttled: level("Processor throttled", ["throttled_percent", "above", 50, 10], 1800),
  roaming: level("SIM roams", ["roaming_percent", "above", 50, 10], 900, false),
  signal_low: level("Signal weak", ["signal_percent", "below", 20, 50], 1800, false),
} as const;
export type HealthCondition = keyof typeof LEVEL_CONDITIONS;
export const HEALTH_CONDITIONS = Object.keys(LEVEL_CONDITIONS) as readonly HealthCondition[];

const service = (title: string, severity: AlertSeverity, forS = 0, keepFiringForS = 0) =>
  ({ subject: "service", title, severity, forS, keepFiringForS, enabled: true }) as const;

/** Every condition, with its default. */
export const ALERT_CONDITIONS = {
  device_offline: asset("Device offline", "critical", 1800),
  device_flapping: asset("Device flapping", "warning", 0, 900),
  ...ATTENTION_CONDITIONS,
  sim_changed: asset("SIM changed or lost at its operator", "warning"),
  agent_outdated: asset("Agent outdated", "info", 30 * 86_400),
  code_expiring: asset("Enrolment code expires within a day", "info"),
  ...LEVEL_CONDITIONS,
  rollout_stopped: {
    subject: "rollout",
    title: "Rollout stopped",
    severity: "critical",
    forS: 0,
    keepFiringForS: 0,
    enabled: true,
  },
  rollout_waiting: {
    subject: "rollout",
    title: "Rollout waits for people",
    severity: "info",
    forS: 0,
    keepFiringForS: 0,
    enabled: true,
  },
  key_expiring: {
    subject: "api_key",
    title: "API key expires within seven days",
    severity: "warning",
    forS: 0,
    keepFiringForS: 0,
    enabled: true,
  },
  channel_disabled: {
    subject: "channel",
    title: "Channel of alerts disabled",
    severity: "critical",
    forS: 0,
    keepFiringForS: 0,
    enabled: true,
  },
  export_failing: service("Export of metrics fails", "warning", 900),
  service_disk_low: service("Disk of the service low", "critical", 300, 900),
  messages_stuck: service("Messages of alerts are not sent", "critical"),
  tls_expiring: service("Certificate of the service expires within 14 days", "critical"),
} as const satisfies Readonly<Record<string, ConditionDefault>>;

export type AlertCondition = keyof typeof ALERT_CONDITIONS;
/** What is the matter with the service itself. */
export type ServiceCondition = {
  [Name in AlertCondition]: (typeof ALERT_CONDITIONS)[Name]["subject"] extends "service" ? Name : never;
}[AlertCondition];
export const ALERT_CONDITION_NAMES = Object.keys(ALERT_CONDITIONS) as [AlertCondition, ...AlertCondition[]];

/** Conditions of apps and of the device itself, which say nothing new while the device is away. */
export const INHIBITED_WHILE_AWAY: ReadonlySet<AlertCondition> = new Set<AlertCondition>([
  "app_missing",
  "app_stopped",
  "app_restarting",
  "app_unhealthy",
  "app_not_repaired",
  "drifted",
  "engine_trouble",
  "state_not_writable",
  "disk_low",
  "clock_wrong",
  "agent_outdated",
  ...HEALTH_CONDITIONS,
]);
