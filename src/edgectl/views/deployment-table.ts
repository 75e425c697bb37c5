import type { Deployment } from "../api/deployments.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration, formatMinute, formatTime } from "../../lib/terminal/time.ts";

/** @param ofAll whether they are those of several assets */
export function renderDeployments(
  rows: readonly Deployment[],
  theme: Theme,
  width: number | undefined,
  ofAll = false,
): string {
  if (rows.length === 0) return "No deployments.";
  const asset: Column<Deployment> = {
    header: "ASSET",
    cell: (row) => sanitizeLine(row.asset_id ?? ""),
    canShrink: true,
  };
  const columns: Column<Deployment>[] = [
    { header: "DEPLOYMENT", cell: (row) => sanitizeLine(row.deployment_id) },
    ...(ofAll ? [asset] : []),
    { header: "ACTION", cell: actionText },
    { header: "APP", cell: (row) => sanitizeLine(row.app), canShrink: true },
    {
      header: "STATUS",
      cell: (row) => sanitizeLine([row.status, row.code].filter(Boolean).join(" ")),
      canShrink: true,
      paint: (text, row) => paintStatus(text, row.status, theme),
    },
    { header: "STARTED (UTC)", cell: (row) => formatMinute(row.created_at) },
  ];
  return renderTable(columns, rows, theme, width);
}

export function renderDeployment(row: Deployment, theme: Theme): string {
  const fields: [string, string][] = [
    ["Deployment", sanitizeLine(row.deployment_id)],
    ["Action", actionText(row)],
    ["App", sanitizeLine(row.app)],
  ];
  if (row.image) fields.push(["Image", sanitizeLine(row.image)]);
  const cancelling = row.cancel_requested_at && !row.finished_at ? " (being cancelled)" : "";
  fields.push(["Status", paintStatus(sanitizeLine(row.status), row.status, theme) + cancelling]);
  if (row.code) fields.push(["Code", sanitizeLine(row.code)]);
  if (row.message) fields.push(["Message", sanitizeLine(row.message)]);
  fields.push(["Started", `${formatTime(row.created_at)} UTC`]);
  if (typeof row.finished_at === "number") {
    const took = formatDuration(row.finished_at - row.created_at);
    fields.push(["Finished", `${formatTime(row.finished_at)} UTC (after ${took})`]);
  }
  return renderFields(fields, theme);
}

function actionText({ action, dry_run: dryRun }: Deployment): string {
  return dryRun ? `${sanitizeLine(action)} (dry run)` : sanitizeLine(action);
}

function paintStatus(text: string, status: string, theme: Theme): string {
  if (status === "Success") return theme.green(text);
  return status === "Fail" ? theme.red(text) : theme.yellow(text);
}
