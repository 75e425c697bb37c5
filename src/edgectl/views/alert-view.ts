import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration, formatTime } from "../../lib/terminal/time.ts";
import type { Alert, AlertDelivery, AlertRoute, Silence } from "../api/alerts.ts";

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

/** A route with its name. */
export type NamedRoute = AlertRoute & { readonly name: string };

const listed = (names: readonly string[] | undefined): string => sanitizeLine(names?.join(", ") ?? "all");

const ROUTES: Column<NamedRoute>[] = [
  { header: "ROUTE", cell: ({ name }) => sanitizeLine(name) },
  { header: "CONDITIONS", cell: ({ conditions }) => listed(conditions), canShrink: true },
  { header: "SEVERITIES", cell: ({ severities }) => listed(severities) },
  { header: "OF", cell: ({ selector }) => sanitizeLine(selector), canShrink: true },
  { header: "AFTER", cell: ({ for_s: after }) => (after === 0 ? "-" : formatDuration(after)) },
  { header: "REPEATED", cell: ({ repeat_s: pause }) => (pause === null ? "-" : formatDuration(pause)) },
  {
    header: "QUIET",
    cell: ({ quiet_hours: quiet }) =>
      quiet === null ? "-" : sanitizeLine(`${quiet.from}-${quiet.to} ${quiet.time_zone}`),
  },
  { header: "CHANNELS", cell: ({ channels }) => listed(channels), canShrink: true },
];

export function renderRoutes(routes: readonly NamedRoute[], theme: Theme, width: number | undefined): string {
  return routes.length === 0 ? "No routes: no person is told." : renderTable(ROUTES, routes, theme, width);
}

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
