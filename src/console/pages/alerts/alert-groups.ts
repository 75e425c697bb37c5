import type { Alert } from "../../../protocol/api-types.ts";
import { ALERT_SEVERITIES, type AlertCondition, type AlertSeverity } from "../../../protocol/alerts/condition.ts";

/** Alerts that are shown, and acknowledged, together. */
export interface AlertGroup {
  /** Id of the group of messages that tell of them; `undefined` if none does. */
  readonly id: string | undefined;
  readonly key: string;
  readonly condition: AlertCondition;
  readonly severity: AlertSeverity;
  /** Those that began first before the others. */
  readonly alerts: readonly Alert[];
}

/** What began within as many seconds is one group where no message says what belongs together: as messages do it. */
const TOGETHER_S = 120;

/** Returns alerts in the groups in which messages tell of them: the worst first, and of those the newest. */
export function groupAlerts(alerts: readonly Alert[]): readonly AlertGroup[] {
  const groups = new Map<string, Alert[]>();
  for (const alert of alerts.toSorted((a, b) => a.since - b.since || compareNames(a, b))) {
    const key = keyOf(alert, groups);
    groups.set(key, [...(groups.get(key) ?? []), alert]);
  }
  return [...groups]
    .flatMap(([key, members]) => {
      const [first] = members;
      return first
        ? [{ key, id: first.group_ids[0], condition: first.condition, severity: first.severity, alerts: members }]
        : [];
    })
    .toSorted((a, b) => rankOf(a) - rankOf(b) || newestOf(b) - newestOf(a));
}

/** Returns alerts of one asset without their groups: one is acknowledged without those of other assets that are in the same message. */
export function apart(alerts: readonly Alert[]): readonly Alert[] {
  return alerts.map((alert) => Object.assign({}, alert, { group_ids: [] }));
}

function keyOf(alert: Alert, groups: ReadonlyMap<string, readonly Alert[]>): string {
  const [id] = alert.group_ids;
  if (id !== undefined) return id;
  const kind = `${alert.condition} ${alert.severity} ${alert.state}`;
  const open = [...groups].findLast(([key]) => key.startsWith(`${kind} `));
  return open && alert.since - (open[1][0]?.since ?? 0) <= TOGETHER_S ? open[0] : `${kind} ${alert.id}`;
}

function compareNames(a: Alert, b: Alert): number {
  return a.subject.name.localeCompare(b.subject.name, "en", { numeric: true }) || (a.id < b.id ? -1 : 1);
}

function rankOf({ severity }: AlertGroup): number {
  return ALERT_SEVERITIES.indexOf(severity);
}

function newestOf({ alerts }: AlertGroup): number {
  return Math.max(...alerts.map(({ fired_at }) => fired_at));
}
