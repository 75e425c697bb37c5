import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import type { Alert, AlertDelivery, Silence } from "../api/alerts.ts";

const ALERTS: Column<Alert>[] = [
  { header: "ID", cell: ({ id }) => sanitizeLine(id) },
  { header: "SEVERITY", cell: ({ severity }) => sanitizeLine(severity) },
  { header: "CONDITION", cell: ({ condition }) => sanitizeLine(condition) },
  { header: "OF", cell: ({ subject }) => sanitizeLine(subject.name), canShrink: true },
  { header: "SINCE", cell: ({ since }) => formatTime(since) },
  { header: "OVER", cell: ({ resolved_at: at }) => (at === null ? "-" : formatTime(at)) },
  { header: "ACKNOWLEDGED", cell: ({ acknowledged_by: by }) => (by === null ? "no" : sanitizeLine(by)) },
];

const SILENCES: Column<Silence>[] = [
  { header: "ID", cell: ({ id }) => sanitizeLine(id) },
  { header: "UNTIL", cell: ({ until }) => formatTime(until) },
  { header: "OF", cell: ({ selector, asset }) => sanitizeLine(asset?.name ?? selector), canShrink: true },
  { header: "CONDITIONS", cell: ({ conditions }) => sanitizeLine(conditions?.join(", ") ?? "all"), canShrink: true },
  { header: "BY", cell: ({ created_by: by }) => sanitizeLine(by) },
  { header: "REASON", cell: ({ reason }) => sanitizeLine(reason), canShrink: true },
];

const DELIVERIES: Column<AlertDelivery>[] = [
  { header: "AT", cell: (delivery) => formatTime(delivery.created_at) },
  { header: "CHANNEL", cell: ({ channel }) => sanitizeLine(channel) },
  { header: "STATE", cell: ({ state }) => sanitizeLine(state) },
  { header: "ATTEMPTS", cell: ({ attempts }) => String(attempts) },
  { header: "MESSAGE", cell: ({ text }) => sanitizeLine(text), canShrink: true },
  { header: "ANSWER", cell: ({ answer }) => sanitizeLine(answer ?? "-"), canShrink: true },
];

export function renderAlerts(alerts: readonly Alert[], theme: Theme, width: number | undefined): string {
  return alerts.length === 0 ? "No alerts." : renderTable(ALERTS, alerts, theme, width);
}

export function renderSilences(silences: readonly Silence[], theme: Theme, width: number | undefined): string {
  return silences.length === 0 ? "No silences." : renderTable(SILENCES, silences, theme, width);
}

export function renderDeliveries(
  deliveries: readonly AlertDelivery[],
  theme: Theme,
  width: number | undefined,
): string {
  return deliveries.length === 0 ? "Nothing was sent." : renderTable(DELIVERIES, deliveries, theme, width);
}
