import { z } from "zod";
import type { AttentionReason } from "../assets/attention.ts";

/** How much an alert matters. The order is from most to least. */
const ALERT_SEVERITIES = ["critical", "warning", "info"] as const;
export const alertSeveritySchema = z.enum(ALERT_SEVERITIES).meta({ id: "AlertSeverity" });
export type AlertSeverity = z.output<typeof alertSeveritySchema>;

/** What an alert is about. */
export type AlertSubjectKind = "asset" | "rollout" | "api_key" | "channel";

/** Default of a condition. */
export interface ConditionDefault {
  readonly subject: AlertSubjectKind;
  /** Text for people after the name of the subject. */
  readonly title: string;
  readonly severity: AlertSeverity;
  /** How long it must hold before an alert fires, in seconds. */
  readonly forS: number;
  /** How long it must be over before the alert is resolved, in seconds, so that what comes and goes is one alert. */
  readonly keepFiringForS: number;
  /** Whether it is on unless a rule of the account says otherwise. */
  readonly enabled: boolean;
}

type AssetCondition = Exclude<AttentionReason, "not_seen">;

const asset = (title: string, severity: AlertSeverity, forS = 0, keepFiringForS = 0, enabled = true) =>
  ({ subject: "asset", title, severity, forS, keepFiringForS, enabled }) as const;

/** Conditions of assets whose name is also the reason for which the asset needs attention. */
const ATTENTION_CONDITIONS = {
  cloned_identity: asset("has an identity that two devices use", "critical"),
  device_replaced: asset("has another device in its place", "warning"),
  acceptance: asset("waits for its device to be accepted", "info", 900),
  app_missing: asset("has an app that is missing", "warning", 120, 300),
  app_stopped: asset("has an app that is stopped", "warning", 120, 300),
  app_restarting: asset("has an app that restarts again and again", "warning", 120, 600),
  app_unhealthy: asset("has an app that is unhealthy", "warning", 120, 300),
  app_not_repaired: asset("has an app that is no longer repaired", "warning", 0, 300),
  drifted: asset("differs from its fleet", "warning", 300, 300, false),
  stopped_by_hand: asset("has an app of a fleet that a person has stopped", "info", 0, 0, false),
  deployment_failed: asset("has a failed deployment", "warning"),
  update_waiting: asset("has a deployment that waits for it", "info", 86_400, 0, false),
  engine_trouble: asset("has trouble with its container engine", "warning", 120, 300),
  state_not_writable: asset("cannot write to its disk", "critical", 60, 300),
  disk_low: asset("is low on disk space", "warning", 300, 900),
  data_budget_spent: asset("has spent its data budget", "warning"),
  data: asset("has spent its data plan or will before the month ends", "warning"),
} as const satisfies Readonly<Record<AssetCondition, ConditionDefault>>;

/** Every condition, with its default. */
export const ALERT_CONDITIONS = {
  device_offline: asset("is offline", "critical", 1800),
  device_flapping: asset("connects again and again", "warning", 0, 900),
  ...ATTENTION_CONDITIONS,
  rollout_stopped: {
    subject: "rollout",
    title: "has stopped",
    severity: "critical",
    forS: 0,
    keepFiringForS: 0,
    enabled: true,
  },
  rollout_waiting: {
    subject: "rollout",
    title: "waits for people",
    severity: "info",
    forS: 0,
    keepFiringForS: 0,
    enabled: true,
  },
  key_expiring: {
    subject: "api_key",
    title: "expires within seven days",
    severity: "warning",
    forS: 0,
    keepFiringForS: 0,
    enabled: true,
  },
  channel_disabled: {
    subject: "channel",
    title: "is disabled since messages failed",
    severity: "critical",
    forS: 0,
    keepFiringForS: 0,
    enabled: true,
  },
} as const satisfies Readonly<Record<string, ConditionDefault>>;

export type AlertCondition = keyof typeof ALERT_CONDITIONS;
const NAMES = Object.keys(ALERT_CONDITIONS) as [AlertCondition, ...AlertCondition[]];
export const alertConditionSchema = z.enum(NAMES).meta({ id: "AlertCondition" });

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
]);
