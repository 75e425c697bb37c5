import type { UptimePeriod } from "../../protocol/assets/connectivity.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration, formatMinute, formatPeriod, formatTime } from "../../lib/terminal/time.ts";
import type { AssetUptime, ConnectivitySpan, Uptime } from "../api/history.ts";
import { renderChartBar } from "./live-line.ts";

const CHART_WIDTH = 24;

export interface History {
  readonly uptime: AssetUptime;
  readonly spans: readonly ConnectivitySpan[];
  readonly per: UptimePeriod;
}

/** Renders uptime as a table with a bar chart, and below it when the device was connected. */
export function renderHistory({ uptime, spans, per }: History, theme: Theme, width: number | undefined): string {
  const { total, periods } = uptime;
  const range = `${formatTime(total.from)} to ${formatTime(total.to)} UTC`;
  if (total.known_s === 0) return `${range}\n\nThe device was never connected before the end of this time.`;
  const times = total.disconnections === 1 ? "1 time" : `${total.disconnections} times`;
  return [
    range,
    "",
    renderTable(
      uptimeColumns(per, theme),
      periods.filter(({ known_s: known }) => known > 0),
      theme,
      width,
    ),
    "",
    `Connected ${theme.bold(percent(total))}, away ${times}, for ${formatDuration(total.longest_gap_s)} at most`,
    ...(spans.length > 0 ? ["", renderTable(spanColumns(theme), spans, theme, width)] : []),
  ].join("\n");
}

function uptimeColumns(per: UptimePeriod, theme: Theme): Column<Uptime>[] {
  return [
    { header: per.toUpperCase(), cell: ({ from }) => formatPeriod(from, per === "month" ? "month" : "day") },
    { header: "UPTIME", cell: percent, align: "right" },
    { header: "AWAY", cell: ({ disconnections }) => String(disconnections), align: "right" },
    { header: "LONGEST", cell: ({ longest_gap_s: gap }) => (gap > 0 ? formatDuration(gap) : "-"), align: "right" },
    {
      header: "",
      cell: ({ connected_s: connected, known_s: known }) => renderChartBar(connected / known, CHART_WIDTH, theme),
      paint: (text) => theme.cyan(text),
    },
  ];
}

function spanColumns(theme: Theme): Column<ConnectivitySpan>[] {
  return [
    { header: "FROM (UTC)", cell: ({ from }) => formatMinute(from) },
    { header: "TO", cell: ({ to }) => (to === null ? "now" : formatMinute(to)) },
    {
      header: "STATE",
      cell: ({ state }) => sanitizeLine(state),
      paint: (text, { state }) => (state === "connected" ? theme.green(text) : theme.yellow(text)),
    },
    { header: "FOR", cell: ({ duration_s: duration }) => formatDuration(duration), align: "right" },
    { header: "WHY", cell: noteOf, canShrink: true },
  ];
}

function noteOf({ reason, takeovers, interruptions, interrupted_s: interrupted }: ConnectivitySpan): string {
  const notes = [
    reason === undefined ? "" : sanitizeLine(reason),
    takeovers > 0 ? `taken over ${takeovers}×` : "",
    interruptions > 0 ? `interrupted ${interruptions}×, ${formatDuration(interrupted)}` : "",
  ];
  return notes.filter((note) => note !== "").join(", ");
}

function percent({ uptime_percent: value }: Uptime): string {
  return value === null ? "-" : `${value.toFixed(2)} %`;
}
