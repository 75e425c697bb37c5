import type { Alert } from "../../protocol/api-types.ts";
import {
  ALERT_CONDITIONS,
  type AlertCondition,
  type AlertSeverity,
  HEALTH_CONDITIONS,
  type HealthCondition,
} from "../../protocol/alerts/condition.ts";
import type { IconName } from "./icon.tsx";

interface SeverityText {
  readonly label: string;
  readonly kind: "plain" | "warn" | "bad";
  readonly icon: IconName;
}

/** Severities in words, the worst first. */
export const SEVERITIES: Readonly<Record<AlertSeverity, SeverityText>> = {
  critical: { label: "critical", kind: "bad", icon: "alert" },
  warning: { label: "warning", kind: "warn", icon: "alert" },
  info: { label: "info", kind: "plain", icon: "info" },
};

const SUBJECTS = {
  asset: ["asset", "assets"],
  rollout: ["rollout", "rollouts"],
  api_key: ["API key", "API keys"],
  channel: ["channel", "channels"],
  service: ["part of the service", "parts of the service"],
} as const;

/** What is the matter, as messages say it. */
export function conditionTitle(condition: AlertCondition): string {
  return ALERT_CONDITIONS[condition].title;
}

/** Formats a number of what the condition is about: `400 assets`. */
export function formatSubjects(condition: AlertCondition, count: number): string {
  const [one, many] = SUBJECTS[ALERT_CONDITIONS[condition].subject];
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Parts of the page of an asset that say more; its apps otherwise. */
const TABS: Readonly<Partial<Record<AlertCondition, string>>> = {
  device_offline: "health",
  device_flapping: "health",
  ...(Object.fromEntries(HEALTH_CONDITIONS.map((condition) => [condition, "health"])) as Record<
    HealthCondition,
    "health"
  >),
  deployment_failed: "deployments",
  update_waiting: "deployments",
  data: "sims",
  sim_changed: "sims",
  data_budget_spent: "device",
  data_budget_low: "device",
  disk_low: "device",
  clock_wrong: "device",
  state_not_writable: "device",
  engine_trouble: "device",
  agent_outdated: "device",
};

/** Name of a rollout, as the service writes it. */
const ROLLOUT_NAME = /^(.+) revision [0-9]+$/;

/** Path of the page that shows what the alert is about. */
export function subjectPath({ condition, subject }: Pick<Alert, "condition" | "subject">): string {
  switch (subject.kind) {
    case "asset": {
      const tab = TABS[condition];
      return `/assets/${encodeURIComponent(subject.id)}${tab === undefined ? "" : `?tab=${tab}`}`;
    }
    case "rollout": {
      const fleet = ROLLOUT_NAME.exec(subject.name)?.[1];
      return fleet === undefined
        ? "/fleets"
        : `/fleets/${encodeURIComponent(fleet)}/rollouts/${encodeURIComponent(subject.id)}`;
    }
    case "api_key":
      return "/developer";
    case "channel":
      return "/alerts/settings";
    case "service":
      return "/alerts";
  }
}
